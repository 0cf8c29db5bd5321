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

/** Weights of one version. */
export interface Adapter {
  /** A name no other version has had. */
  readonly name: string
  /** Policy version: how many updates made the weights. */
  readonly version: number
  /** The PEFT folder, as the target's machine sees it; written when first asked for. */
  readonly folder: Effect.Effect<string, TargetError>
  /** Flat in the model's layout; read from the folder where only that was given. */
  readonly parameters: Effect.Effect<Float32Array, TargetError>
}

export interface Target {
  /** What logs, metrics and the status call it: its kind and address. */
  readonly name: string
  /** Makes the target serve these weights. `isRepeated`: an earlier attempt may have succeeded without our knowing. */
  readonly load: (adapter: Adapter, isRepeated: boolean) => Effect.Effect<void, TargetError>
  /** Gives the weights of a name up. Succeeds where they are not there. */
  readonly unload: (name: string) => Effect.Effect<void, TargetError>
}
