/** The figures that a trainer writes beside its checkpoints. */
import { Effect, FileSystem, Schema } from "effect"

const Line = Schema.fromJsonString(
  Schema.Struct({
    step: Schema.Int,
    "reward/mean": Schema.Finite,
    "train/loss": Schema.Finite,
    "train/skipped": Schema.Finite,
    "staleness/max": Schema.Finite,
    "staleness/dropped": Schema.Finite
  })
)
const decodeLine = Schema.decodeUnknownEffect(Line)

/** One entry for each step, from `metrics.jsonl` of the folder. */
export const read = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(`${folder}/metrics.jsonl`)
  return yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
})
