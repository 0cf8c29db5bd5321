/**
 * Restores the state of an interrupted `up` run: its rewards per step, from the metrics next to its checkpoints, and
 * the initial evaluation. A resumed run is thus summarised as a whole.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import type { Curve, SolvedBy } from "./Curve.ts"
import * as CurveOf from "./Curve.ts"

const Line = Schema.Struct({
  step: Schema.Natural,
  "reward/mean": Schema.Finite,
  "train/loss": Schema.optionalKey(Schema.Finite),
  "train/skipped": Schema.optionalKey(Schema.Finite),
  "grpo/mean_ratio": Schema.optionalKey(Schema.Finite),
  "train/tokens": Schema.Finite,
  "batch/sequences": Schema.Finite,
  "train/step_time": Schema.Finite
})
const decodeLine = Schema.decodeUnknownOption(Schema.fromJsonString(Line))

const decodeHeldOut = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Array(
      Schema.Struct({
        environment: Schema.String,
        correct: Schema.Finite,
        items: Schema.Natural,
        measure: Schema.optionalKey(Schema.Literal("reward"))
      })
    )
  )
)

const file = "held-out.json"

/** Steps up to `done` from the metrics in a folder; for a repeated step, the last one counts. Empty without metrics. */
export const curve = Effect.fn("History.curve")(function* (folder: string, done: number) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  if (done === 0) return CurveOf.empty
  const text = yield* Effect.orElseSucceed(fs.readFileString(join(folder, "metrics.jsonl")), () => "")
  const byStep = new Map<number, typeof Line.Type>()
  for (const row of text.split("\n")) {
    const line = decodeLine(row)
    if (Option.isSome(line) && line.value.step <= done) byStep.set(line.value.step, line.value)
  }
  const rows = Array.from(byStep.values()).toSorted((one, other) => one.step - other.step)
  const sum = (of: (row: typeof Line.Type) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    rewards: rows.map((row) => row["reward/mean"]),
    losses: rows.map((row) =>
      row["grpo/mean_ratio"] === undefined && row["train/skipped"] === 0 ? row["train/loss"] : undefined
    ),
    tokens: sum((row) => row["train/tokens"]),
    sequences: sum((row) => row["batch/sequences"]),
    seconds: sum((row) => row["train/step_time"])
  } satisfies Curve
})

/** The held-out results before the first step, if an earlier process evaluated them. */
export const before = Effect.fn("History.before")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(join(folder, file)), () => "")
  return decodeHeldOut(text)
})

export const saveBefore = Effect.fn("History.saveBefore")(function* (folder: string, solved: ReadonlyArray<SolvedBy>) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  yield* fs.writeFileString(join(folder, file), `${JSON.stringify(solved)}\n`)
})
