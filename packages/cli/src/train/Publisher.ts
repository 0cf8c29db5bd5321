/** Where new weights go: the servers that `weight_sync` names. */
import type { Model } from "@atropos/trainer/model/Model"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as WeightSync from "@atropos/trainer/sync/WeightSync"
import { Effect, Path } from "effect"
import { UsageError } from "../base/Failure.ts"

/** Hands weights on to all of them; undefined where none is named. */
export const make = Effect.fn("Publisher.make")(function* (model: Model, { trainer }: TrainerSettings) {
  const targets = yield* Effect.forEach(trainer.weightSync, WeightSync.targetOf)
  if (targets.length === 0) return undefined
  if (model.adapter === undefined) {
    return yield* new UsageError({
      message: `--weight_sync ${trainer.weightSync.join(", ")}: servers take adapters only, but all weights are trained: leave it out, or train an adapter (--trains adapter)`
    })
  }
  const { join } = yield* Path.Path
  const sync = yield* WeightSync.make({
    targets,
    folder: join(trainer.savePath, "adapters"),
    writeAdapter: model.write,
    readAdapter: yield* PolicyLayers.readAdapter(model)
  })
  return sync.publish
})
