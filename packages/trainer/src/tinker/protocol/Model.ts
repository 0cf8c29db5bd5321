/** Bodies about a model in training: an adapter on a base model, with numbered requests. */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, Metadata, optional } from "./Optional.ts"

export const LoraConfig = wire({
  rank: Count,
  alpha: optional(Schema.Finite),
  seed: optional(Schema.Int),
  trainUnembed: optional(Schema.Boolean),
  trainMlp: optional(Schema.Boolean),
  trainAttn: optional(Schema.Boolean)
})
export type LoraConfig = typeof LoraConfig.Type

/** Fixed for a model's life; default `adamw`. */
export const OptimizerConfig = Schema.Struct({ type: Schema.String })

export const CreateModel = wire({
  sessionId: Schema.String,
  /** From 0, one per model of the session: the same number is the same model. */
  modelSeqId: Count,
  baseModel: Schema.String,
  userMetadata: optional(Metadata),
  loraConfig: optional(LoraConfig),
  optimizerConfig: optional(OptimizerConfig),
  type: optional(Schema.Literal("create_model"))
})

export const ModelCreated = wire({
  modelId: Schema.NonEmptyString,
  baseModel: optional(Schema.String),
  loraConfig: optional(LoraConfig),
  type: optional(Schema.Literal("create_model"))
})

export const GetInfo = wire({ modelId: Schema.String, type: optional(Schema.Literal("get_info")) })

export const ModelData = wire({
  arch: optional(Schema.String),
  baseModel: optional(Schema.String),
  loraConfig: optional(LoraConfig),
  modelName: optional(Schema.String),
  /** Hub id of the tokenizer. */
  tokenizerId: optional(Schema.String)
})

/**
 * Response of get_info.
 *
 * @public
 */
export const Info = wire({
  type: optional(Schema.Literal("get_info")),
  modelId: Schema.String,
  status: optional(Schema.String),
  modelData: ModelData,
  optimizerConfig: optional(OptimizerConfig),
  isLora: optional(Schema.Boolean),
  loraRank: optional(Count),
  modelName: optional(Schema.String)
})

export const UnloadModel = wire({ modelId: Schema.String, type: optional(Schema.Literal("unload_model")) })

export const ModelUnloaded = wire({ modelId: Schema.String, type: optional(Schema.Literal("unload_model")) })
