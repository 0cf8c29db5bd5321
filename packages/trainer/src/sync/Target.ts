/**
 * Interface of a weight-sync target: a sampler of the policy, and how it receives new weights. `WeightSync` handles
 * timing, retries and unloading; a target makes one attempt.
 */
import { type Effect, Schema } from "effect"

export class TargetError extends Schema.TaggedError<TargetError>()("TargetError", {
  target: Schema.String,
  message: Schema.String,
  isPermanent: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** A known sequence that identifies a server's weights. */
export interface Probe {
  /** Ids, at least two. */
  readonly tokens: ReadonlyArray<number>
  /** One per token except the first, nats, at temperature 1. */
  readonly logprobs: ReadonlyArray<number>
}

/** Weights of one version: an adapter's, or a whole model's. */
export interface Adapter {
  /** Unique over all versions. */
  readonly name: string
  /** Policy version: number of updates that produced the weights. */
  readonly version: number
  /** The PEFT or model folder, as a path on the target's machine; written on first use. */
  readonly folder: Effect.Effect<string, TargetError>
  /** Flat in the model's layout; read from the folder if only that was given. */
  readonly parameters: Effect.Effect<Float32Array, TargetError>
  /** Logprobs of a known sequence under these weights, if computed. */
  readonly probe?: Probe
}

export interface Target {
  /** Name in logs, metrics and status: its type and address. */
  readonly name: string
  /** Makes the target serve these weights. `isRepeated`: an earlier attempt may have succeeded unnoticed. */
  readonly load: (adapter: Adapter, isRepeated: boolean) => Effect.Effect<void, TargetError>
  /** Unloads the weights of a name. Succeeds if they are not loaded. */
  readonly unload: (name: string) => Effect.Effect<void, TargetError>
  /** True if it still has the weights that it was given under a name; false after a restart. */
  readonly has?: (name: string) => Effect.Effect<boolean, TargetError>
  /** Fails if it can never take weights; run before training starts. */
  readonly check?: Effect.Effect<void, TargetError>
}
