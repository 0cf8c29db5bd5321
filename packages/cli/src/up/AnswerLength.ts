/**
 * Chooses the max answer length, unless set, from the answers to a few held-out items, so that a run does not wait for
 * the environment's own limit of thousands of tokens. Chosen once per run and saved in its folder, since a resumed run
 * must sample identically. Longer answers are truncated and counted as such.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import type * as Lengths from "./Lengths.ts"

/** If answers are known: this multiple of the longest, and at least this many tokens. */
const times = 2
const min = 64
/** If some did not end during the trial. */
const unended = 256

/** In tokens; at most the environment's own limit. */
export const choose = ({ areCut, rollouts }: Lengths.Lengths, maxTokenLength: number): number => {
  const longest = Math.max(0, ...rollouts.map(({ answer }) => answer))
  // Nothing was sampled, so nothing is known.
  if (longest === 0 && !areCut) return maxTokenLength
  const needed = 2 ** Math.ceil(Math.log2(Math.max(min, times * longest)))
  return Math.min(maxTokenLength, areCut ? Math.max(unended, needed) : needed)
}

export const reason = ({ areCut, rollouts }: Lengths.Lengths): string => {
  const longest = Math.max(0, ...rollouts.map(({ answer }) => answer))
  return areCut
    ? "answers did not end within the trial"
    : `the longest of ${rollouts.length} held-out answers has ${longest.toLocaleString("en-US")}`
}

const file = "answer-length.json"
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ tokens: Schema.Natural })))

/** The choice of an interrupted run. */
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
