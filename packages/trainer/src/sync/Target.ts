/**
 * One place that samples with the policy's weights, and how new ones get there. `WeightSync` decides when, how often
 * again, and when old ones may go; a target makes one attempt.
 */
import { type Effect, Schema } from "effect"

/** An attempt that failed. */
export class TargetError extends Schema.TaggedError<TargetError>()("TargetError", {
  target: Schema.String,
  message: Schema.String,
  /** Asking again will not help. */
  isPermanent: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** A known sequence, by which it can be told what weights a server has. */
export interface Probe {
  /** Ids, at least two. */
  readonly tokens: ReadonlyArray<number>
  /** Of every token but the first, nats, at temperature 1. */
  readonly logprobs: ReadonlyArray<number>
}

/** Weights of one version: an adapter's, or all of a model. */
export interface Adapter {
  /** A name no other version has had. */
  readonly name: string
  /** Policy version: how many updates made the weights. */
  readonly version: number
  /** The PEFT or model folder, as the target's machine sees it; written when first asked for. */
  readonly folder: Effect.Effect<string, TargetError>
  /** Flat in the model's layout; read from the folder where only that was given. */
  readonly parameters: Effect.Effect<Float32Array, TargetError>
  /** What these weights make of a known sequence, where somebody has computed it. */
  readonly probe?: Probe
}

export interface Target {
  /** What logs, metrics and the status call it: its kind and address. */
  readonly name: string
  /** Makes the target serve these weights. `isRepeated`: an earlier attempt may have succeeded without our knowing. */
  readonly load: (adapter: Adapter, isRepeated: boolean) => Effect.Effect<void, TargetError>
  /** Gives the weights of a name up. Succeeds where they are not there. */
  readonly unload: (name: string) => Effect.Effect<void, TargetError>
  /** Whether it still has the weights that it was given under a name: a server that was started anew has not. */
  readonly has?: (name: string) => Effect.Effect<boolean, TargetError>
  /** Fails for good where it can never take weights; asked before anything is trained. */
  readonly check?: Effect.Effect<void, TargetError>
}
