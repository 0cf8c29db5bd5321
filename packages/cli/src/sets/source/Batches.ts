/**
 * Takes batches from a service of the original, which offers no other access to its groups: taken batches are removed
 * from its queue, and anything lost before writing is gone.
 *
 * Never resets the service: the reader registers itself only if no trainer is registered, reuses its own earlier
 * registration, and never takes another trainer's batches.
 */
import { TrainerClient } from "@atropos/core"
import { Effect, Option } from "effect"
import { CommandFailed, UsageError } from "../../base/Failure.ts"
import type { Source } from "./Source.ts"

export interface Options {
  readonly url: string
  readonly batchSize: number
  readonly maxTokenLength: number
  /** Announced to environments that run for as long as the trainer states. */
  readonly steps: number
}

/** Identity of the reader's registration. */
const own = { wandbGroup: "atropos", wandbProject: "data-set" }

export const make = ({ batchSize, maxTokenLength, steps, url }: Options): Source<TrainerClient.TrainerClient> => ({
  name: `batches of ${url}`,
  identity: { url, batches: true },
  checkpointEvery: 0,
  run: Effect.fn("Batches.run")(
    function* (sink) {
      const service = yield* TrainerClient.TrainerClient
      const registered = yield* service.runInfo
      if (registered.batchSize < 0) {
        yield* service.registerRun({
          name: "default",
          batchSize,
          maxTokenLength,
          startingStep: 0,
          numSteps: steps,
          checkpointDir: "",
          saveCheckpointInterval: 0,
          ...own
        })
      } else {
        const { group, project } = yield* service.wandbInfo
        if (group !== own.wandbGroup || project !== own.wandbProject) {
          return yield* new UsageError({
            message: `a trainer is already registered with the service at ${url} (batches of ${registered.batchSize} sequences, W&B project ${project ?? "none"}): batches are for it, and none was taken. If it is gone, end its run with: curl -X POST ${url}/reset_data`
          })
        }
      }
      for (;;) {
        const batch = yield* service.claim({ owner: "data-set", wait: "30 seconds", lease: "1 hour" })
        if (Option.isNone(batch)) {
          yield* sink.note("waiting for batches")
          continue
        }
        if (!(yield* sink.take(batch.value.groups, null))) return
      }
    },
    Effect.catchTag("TrajectoryError", (error) =>
      Effect.fail(new CommandFailed({ message: error.message, cause: error }))
    )
  )
})
