/** The logprobs of a prompt as they are told: of every position the likeliest tokens, and the prompt's own. */
import type { Alternatives, PromptLogprobs } from "../engine/Engine.ts"

/** Most likely first, the prompt's own token last where it is not among them; nothing at the first position. */
export const positions = (
  tokens: ReadonlyArray<number>,
  { alternatives, logprobs }: PromptLogprobs
): ReadonlyArray<Alternatives> =>
  tokens.map((token, at) => {
    const likely = alternatives[at]
    if (at === 0 || likely === undefined) return { tokens: [], logprobs: [] }
    return likely.tokens.includes(token)
      ? likely
      : { tokens: [...likely.tokens, token], logprobs: [...likely.logprobs, logprobs[at]!] }
  })
