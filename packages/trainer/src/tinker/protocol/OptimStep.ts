/** Bodies of an optimizer step: AdamW with the gradients accumulated since the last one. */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, optional } from "./Optional.ts"

export const AdamParams = wire({
  learningRate: optional(Schema.Finite),
  beta1: optional(Schema.Finite),
  beta2: optional(Schema.Finite),
  eps: optional(Schema.Finite),
  weightDecay: optional(Schema.Finite),
  /** Max norm of the whole gradient; 0: no limit. */
  gradClipNorm: optional(Schema.Finite)
})
export type AdamParams = typeof AdamParams.Type

/** Defaults of omitted parameters. */
export const adamDefaults = {
  learningRate: 0.0001,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-12,
  weightDecay: 0,
  gradClipNorm: 0
} as const

export const OptimStep = wire({
  modelId: Schema.String,
  seqId: optional(Count),
  type: optional(Schema.Literal("optim_step")),
  /** Absent for another optimizer, which is then named in `optimizerParams`. */
  adamParams: optional(AdamParams),
  optimizerParams: optional(Schema.Unknown)
})

/** Its result; metrics by name, including the gradient norm if the server reports it. */
export const OptimStepped = Schema.Struct({
  metrics: optional(Schema.Record(Schema.String, Schema.Number)),
  type: optional(Schema.Literal("optim_step"))
})
