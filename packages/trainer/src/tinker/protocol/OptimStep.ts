/** Bodies of an optimizer step: AdamW with the gradients added up since the last one. */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, optional } from "./Optional.ts"

export const AdamParams = wire({
  learningRate: optional(Schema.Finite),
  beta1: optional(Schema.Finite),
  beta2: optional(Schema.Finite),
  eps: optional(Schema.Finite),
  weightDecay: optional(Schema.Finite),
  /** Largest norm of the whole gradient; 0: no limit. */
  gradClipNorm: optional(Schema.Finite)
})
export type AdamParams = typeof AdamParams.Type

/** What a parameter is that was not sent. */
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
  /** Absent where the optimizer is another one, which then is named in `optimizerParams`. */
  adamParams: optional(AdamParams),
  optimizerParams: optional(Schema.Unknown)
})

/** What its future comes to; figures by name, the norm of the gradient among them where the server tells. */
export const OptimStepped = Schema.Struct({
  metrics: optional(Schema.Record(Schema.String, Schema.Number)),
  type: optional(Schema.Literal("optim_step"))
})
