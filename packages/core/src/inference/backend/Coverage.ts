/**
 * Checks that the token ids of an answer cover all of it.
 *
 * Proxies and streams lose ids, and a server may omit those of its reasoning. If `usage`, the number of logprobs or the
 * text show that more was sampled, the ids are dropped, and the sequence is tokenized from text like that of a server
 * without ids.
 */
import { Effect, Struct } from "effect"
import type { Answer, AnswerChoice } from "./Backend.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"

/** Why the ids of an answer do not cover it; undefined if they do, or if it has none. */
export const gap = (
  { choices, usage }: Answer,
  tokenizer: Pick<TokenizerShape, "decode"> | undefined
): string | undefined => {
  const sampled = choices.flatMap((choice) => (choice.sampled === undefined ? [] : [choice.sampled]))
  const ids = sampled.reduce((sum, { tokens }) => sum + tokens.length, 0)
  if (sampled.length === choices.length && usage !== undefined && usage.completionTokens > ids) {
    return fewerThanUsage(usage.completionTokens, ids)
  }
  return choices.map((choice) => gapOf(choice, tokenizer)).find((one) => one !== undefined)
}

export const fewerThanUsage = (tokens: number | null | undefined, ids: number): string =>
  `usage reports ${tokens} tokens, but the answer has ${ids} token ids`

const withoutIds = (answer: Answer): Answer => ({
  ...answer,
  choices: answer.choices.map((choice) => Struct.omit(choice, ["sampled"]))
})

/** Drops ids that do not cover their answer; the first case is logged. */
export const keep = (server: string, tokenizer: Pick<TokenizerShape, "decode"> | undefined) => {
  let isReported = false
  return Effect.fnUntraced(function* (answer: Answer) {
    const missing = gap(answer, tokenizer)
    if (missing === undefined) return answer
    if (!isReported) {
      isReported = true
      yield* Effect.logWarning("token ids do not cover the answer; tokenizing its text", {
        server,
        gap: missing
      })
    }
    return withoutIds(answer)
  })
}

const gapOf = (
  { message, sampled, text, toolCalls }: AnswerChoice,
  tokenizer: Pick<TokenizerShape, "decode"> | undefined
): string | undefined => {
  if (sampled === undefined) return undefined
  const { logprobs, tokens } = sampled
  if (logprobs.length > tokens.length) return `${logprobs.length} logprobs, but ${tokens.length} token ids`
  if (tokens.length === 0) {
    const saysNothing = text === "" && toolCalls.length === 0 && !message.reasoning_content
    return saysNothing ? undefined : "no token ids, but the answer is not empty"
  }
  if (tokenizer === undefined || text === "") return undefined
  const said = squeezed(text)
  const isCovered = [false, true].some((skipSpecialTokens) =>
    squeezed(tokenizer.decode(tokens, { skipSpecialTokens })).includes(said)
  )
  return isCovered ? undefined : `its ${tokens.length} token ids cover only a part of its text`
}

/** Servers trim answers, clean up whitespace, and hold back incomplete characters. */
const squeezed = (text: string): string => text.replace(/[\s\uFFFD]+/gu, "")
