/** Where new weights go: the servers that `weight_sync` names, with a token where one is set. */
import type { Model } from "@atropos/trainer/model/Model"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as WeightSync from "@atropos/trainer/sync/WeightSync"
import { Config, Effect, Option, Path, Redacted } from "effect"
import { UsageError } from "../base/Failure.ts"

/** One for all of them: a run's servers are of one owner. */
export const tokenSetting = "ATROPOS_WEIGHT_SYNC_TOKEN"

const tokenOf = Effect.gen(function* () {
  const token = yield* Config.option(Config.Redacted(tokenSetting))
  if (Option.isNone(token)) return undefined
  // It becomes a line of a header.
  return /^\S+$/.test(Redacted.value(token.value))
    ? token.value
    : yield* new UsageError({ message: `${tokenSetting} is empty or has spaces` })
})

/** Hands weights on to all of them; undefined where none is named. */
export const make = Effect.fn("Publisher.make")(function* (model: Model, { trainer }: TrainerSettings) {
  const apiKey = yield* tokenOf
  const targets = yield* Effect.forEach(trainer.weightSync, (setting) => WeightSync.targetOf(setting, apiKey))
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
