/** Publishes new weights to the servers of `weight_sync`, with a token if configured. */
import type { Model } from "@atropos/trainer/model/Model"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as WeightSync from "@atropos/trainer/sync/WeightSync"
import { Config, Effect, Option, Path, Redacted } from "effect"
import { UsageError } from "../base/Failure.ts"

/** A single token, since a run's servers have one owner. */
export const tokenSetting = "ATROPOS_WEIGHT_SYNC_TOKEN"

const tokenOf = Effect.gen(function* () {
  const token = yield* Config.option(Config.Redacted(tokenSetting))
  if (Option.isNone(token)) return undefined
  // It becomes an HTTP header value.
  return /^\S+$/.test(Redacted.value(token.value))
    ? token.value
    : yield* new UsageError({ message: `${tokenSetting} is empty or has spaces` })
})

/** Text by which a server proves that it has the new weights: ordinary words, numbers, punctuation. */
const known =
  "Mira has 12 apples, and Tom brings 7 more. How many apples are there now? 12 + 7 = 19, so there are 19 apples. " +
  "The next day, they eat 4 of them; then 15 are left."
const maxCached = 64

/** A large model is read from disk, after running requests have finished. */
const wholeTime = "15 minutes"

/** The trained model; `write` puts parameters into a folder. */
export interface Published {
  readonly tokenizer: Pick<Model["tokenizer"], "encode">
  readonly config: Pick<Model["config"], "maxPositions">
  readonly write?: Model["write"]
}

/**
 * Publishes weights to all servers; undefined if none is configured. Weights that can never be published are rejected
 * before training.
 */
export const make = Effect.fn("Publisher.make")(function* (model: Published, { trainer }: TrainerSettings) {
  const apiKey = yield* tokenOf
  const isWhole = trainer.trains === "all"
  const targets = yield* Effect.forEach(trainer.weightSync, (setting) =>
    Effect.mapError(
      WeightSync.targetOf(setting, apiKey, isWhole ? "all" : "adapter"),
      ({ message }) => new UsageError({ message: `--weight_sync: ${message}` })
    )
  )
  if (targets.length === 0) return undefined
  for (const { check, name } of targets) {
    if (check === undefined) continue
    yield* check.pipe(
      Effect.catchTag("TargetError", ({ isPermanent, message }) =>
        isPermanent
          ? Effect.fail(new UsageError({ message: `--weight_sync ${name}: ${message}` }))
          : Effect.logWarning("weight target does not respond yet", { target: name, reason: message })
      )
    )
  }
  const { join } = yield* Path.Path
  const sync = yield* WeightSync.make({
    targets,
    folder: join(trainer.savePath, isWhole ? "weights" : "adapters"),
    ...(model.write && { writeAdapter: model.write }),
    ...(isWhole && { grace: 0, attemptTime: wholeTime })
  })
  /** Rejected adapters leave the samplers as they were. Rejected full weights leave no sampler. */
  const publish = (weights: WeightSync.Weights) =>
    Effect.gen(function* () {
      yield* sync.publish(weights)
      const refused = isWhole ? (yield* sync.status).find(({ refusal }) => refusal !== undefined) : undefined
      if (refused !== undefined) {
        return yield* Effect.fail({ message: `${refused.target}: ${refused.refusal}` })
      }
    })
  const probe = isWhole
    ? model.tokenizer.encode(known).slice(0, Math.min(maxCached, model.config.maxPositions))
    : undefined
  return { publish, ...(probe && { probe }) }
})
