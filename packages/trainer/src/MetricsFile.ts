/**
 * The metrics of every step as lines of JSON, by the names they are recorded under (`docs/training.md`), with step and policy version.
 *
 * Lines are appended: a run that goes on goes on in its file. Steps that a killed process had done since its last checkpoint are done
 * again, and stand there twice.
 */
import { Effect, FileSystem, type Scope } from "effect"
import * as StepMetrics from "./StepMetrics.ts"
import { TrainerError } from "./TrainerError.ts"

/** Opens the file; the effect writes one step. */
export const open = Effect.fn("MetricsFile.open")(function* (
  path: string
): Effect.fn.Return<
  (metrics: StepMetrics.StepMetrics) => Effect.Effect<void, TrainerError>,
  TrainerError,
  FileSystem.FileSystem | Scope.Scope
> {
  const fs = yield* FileSystem.FileSystem
  const failed = Effect.mapError(
    (cause: { readonly message: string }) =>
      new TrainerError({
        reason: "checkpoint",
        message: `metrics cannot be written to ${path}: ${cause.message}`,
        cause
      })
  )
  const file = yield* failed(fs.open(path, { flag: "a" }))
  const encoder = new TextEncoder()
  return (metrics) => {
    const { batchId, policyVersion, step } = metrics
    const line = JSON.stringify({ step, policy_version: policyVersion, batch: batchId, ...StepMetrics.values(metrics) })
    return failed(file.writeAll(encoder.encode(`${line}\n`)))
  }
})
