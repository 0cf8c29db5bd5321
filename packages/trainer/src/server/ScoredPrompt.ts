/** Formats the logprobs of a prompt: per position the most likely tokens and the prompt's own. */
import type { Alternatives, PromptLogprobs } from "../engine/Engine.ts"

/** Most likely first, the prompt's own token last if not among them; empty at the first position. */
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
