/**
 * Chooses how long an answer may be, unless it is set: from the answers of a few held-out items, so that a model
 * that says little is not waited for up to the environment's own limit of thousands of tokens.
 *
 * Chosen once for a run and kept in its folder, because a resumed run has to sample as it did. Longer ones are cut, and
 * counted as such.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import type * as Lengths from "./Lengths.ts"

/** Where answers are known: so many times the longest, and no less than this. */
const times = 2
const least = 64
/** Where some have not ended in the time of the trial. */
const unended = 256

/** Tokens; no more than the environment's own limit. */
export const choose = ({ areCut, rollouts }: Lengths.Lengths, maxTokenLength: number): number => {
  const longest = Math.max(0, ...rollouts.map(({ answer }) => answer))
  // Nothing was asked, so nothing is known.
  if (longest === 0 && !areCut) return maxTokenLength
  const needed = 2 ** Math.ceil(Math.log2(Math.max(least, times * longest)))
  return Math.min(maxTokenLength, areCut ? Math.max(unended, needed) : needed)
}

/** Why it is so long, for the plan. */
export const reason = ({ areCut, rollouts }: Lengths.Lengths): string => {
  const longest = Math.max(0, ...rollouts.map(({ answer }) => answer))
  return areCut
    ? "answers did not end within the seconds of the trial"
    : `the longest of ${rollouts.length} held-out answers has ${longest.toLocaleString("en-US")}`
}

const file = "answer-length.json"
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ tokens: Schema.Natural })))

/** What this run had chosen before it was interrupted. */
export const kept = Effect.fn("AnswerLength.kept")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(join(folder, file)), () => "")
  return Option.map(decode(text), ({ tokens }) => tokens)
})

export const keep = Effect.fn("AnswerLength.keep")(function* (folder: string, tokens: number) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  yield* fs.writeFileString(join(folder, file), `${JSON.stringify({ tokens })}\n`)
})
