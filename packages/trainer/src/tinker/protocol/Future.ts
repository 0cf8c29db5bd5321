/** Bodies of futures: every operation immediately returns a request id, which the client polls for the result. */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { LoraConfig } from "./Model.ts"
import { Count, optional } from "./Optional.ts"

export const Pending = wire({
  futureId: optional(Schema.String),
  modelId: optional(Schema.String),
  baseModel: optional(Schema.String),
  loraConfig: optional(LoraConfig),
  status: optional(Schema.String),
  requestId: Schema.NonEmptyString,
  /** One per requested sample; clients from 0.26.2 on expect them. */
  sampleSequenceIds: optional(Schema.Array(Schema.String))
})
export type Pending = typeof Pending.Type

export const RetrieveFuture = wire({
  requestId: Schema.String,
  /** Allow a large result to be announced first (`MetadataOnly`). */
  allowMetadataOnly: optional(Schema.Boolean)
})

export const queueStates = ["active", "paused_capacity", "paused_rate_limit"] as const

export const TryAgain = wire({
  type: Schema.Literal("try_again"),
  requestId: optional(Schema.String),
  /** One of `queueStates`; other values count as active. */
  queueState: optional(Schema.String),
  queueStateReason: optional(Schema.String)
})

/** The result is ready but large: poll again without allowing this response. */
export const MetadataOnly = wire({
  status: Schema.Literal("complete_metadata"),
  responsePayloadSize: optional(Count)
})

/** The operation failed: `user` because of its input, `server` because of the server. */
export const Failed = Schema.Struct({
  error: Schema.String,
  category: optional(Schema.String)
})

/** HTTP errors in FastAPI's format: text, or a list of validation errors. */
export const Detail = Schema.Struct({ detail: Schema.Unknown })

export const CancelFuture = wire({ requestId: Schema.String })
