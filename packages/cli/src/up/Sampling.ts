/**
 * Configures sampling during in-process training: how far it may run ahead, the handling of in-flight answers on new
 * weights, and speculative decoding.
 *
 * With 0 steps ahead every answer comes from the weights it trains, and the same seed gives a bit-identical run;
 * speculative decoding keeps this, but changes logprobs by rounding.
 */
import type { EngineSettings } from "@atropos/trainer/engine/EngineSettings"
import { type TrainerSettings, waitAtStaleness } from "@atropos/trainer/run/TrainerSettings"
import { Effect, Option } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as EngineFlags from "../config/EngineFlags.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"

export type Sampling = Pick<EngineSettings, "speculativeTokens" | "weightUpdates">

/** The behaviour before these settings existed: no speculation, and answers finish on the weights they began with. */
export const asEver: Sampling = { speculativeTokens: 0, weightUpdates: "pinned" }

/** Number of steps sampling runs ahead, which `on_stale wait` may also set. */
export const stepsAheadOf = Effect.fnUntraced(function* ({ trainer }: TrainerSettings, input: Option.Option<number>) {
  const bound = waitAtStaleness(trainer)
  const stepsAhead = Option.getOrElse(input, () => bound ?? 0)
  if (bound === null || stepsAhead === bound) return stepsAhead
  return yield* new UsageError({
    message: `--on_stale wait --max_staleness ${bound} contradicts --steps_ahead ${stepsAhead}: the former means --steps_ahead ${bound}; give only one of them`
  })
})

export interface Flags {
  readonly speculativeTokens: number
  readonly weightUpdates: "pinned" | "in-flight"
}

/** Reads the flags; fails if one would have no effect. */
export const of = Effect.fnUntraced(function* (
  settings: TrainerSettings,
  { speculativeTokens, weightUpdates }: Flags,
  stepsAhead: number,
  isVllm = false
) {
  const isInFlight = weightUpdates === "in-flight"
  const localOnly = [
    ...(isInFlight ? ["--weight_updates in-flight"] : []),
    ...(speculativeTokens > 0 ? [`--speculative_tokens ${speculativeTokens}`] : [])
  ]
  if (localOnly.length > 0 && isVllm) {
    return yield* new UsageError({ message: `--sampler vllm: not supported: remove ${localOnly.join(" and ")}` })
  }
  if (localOnly.length > 0 && RemoteEngine.isRemote(settings)) {
    return yield* new UsageError({
      message: `--engine ${settings.trainer.engine}: not supported by the server: remove ${localOnly.join(" and ")}`
    })
  }
  if (isInFlight && stepsAhead === 0) {
    return yield* new UsageError({
      message:
        "--weight_updates in-flight has no effect with --steps_ahead 0: sampling waits for new weights, so none arrive during sampling. Let it run ahead (--steps_ahead 1), or remove --weight_updates"
    })
  }
  return { speculativeTokens, weightUpdates: EngineFlags.updatesOf(weightUpdates) } satisfies Sampling
})
