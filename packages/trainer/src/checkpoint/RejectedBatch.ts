/** Writes a batch that could not be trained on, for inspection: one group per line, in the original's format. */
import { type Batch, WireGroup } from "@atropos/core"
import { Effect, FileSystem, Path } from "effect"
import * as CheckpointError from "./CheckpointError.ts"

/** Writes `non_finite_step_<n>.jsonl` next to the checkpoints; returns its path. */
export const write = Effect.fn("RejectedBatch.write")(function* (folder: string, step: number, batch: Batch.Batch) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, `non_finite_step_${step}.jsonl`)
  const lines = batch.groups.map((group) => `${WireGroup.encode(group)}\n`)
  yield* fs
    .makeDirectory(folder, { recursive: true })
    .pipe(Effect.andThen(fs.writeFileString(path, lines.join(""))), Effect.mapError(CheckpointError.at(path)))
  return path
})
