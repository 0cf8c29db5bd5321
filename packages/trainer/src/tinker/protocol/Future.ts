/**
 * Bodies of futures: every operation is answered at once with the id of a request, whose result is asked for until it
 * is there.
 */
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
  /** One for each sample asked for; clients from 0.26.2 on want them. */
  sampleSequenceIds: optional(Schema.Array(Schema.String))
})
export type Pending = typeof Pending.Type

export const RetrieveFuture = wire({
  requestId: Schema.String,
  /** Whether a large result may be announced first (`MetadataOnly`). */
  allowMetadataOnly: optional(Schema.Boolean)
})

export const queueStates = ["active", "paused_capacity", "paused_rate_limit"] as const

/** Not yet. */
export const TryAgain = wire({
  type: Schema.Literal("try_again"),
  requestId: optional(Schema.String),
  /** One of `queueStates`; others are taken for active. */
  queueState: optional(Schema.String),
  queueStateReason: optional(Schema.String)
})

/** The result is there and large: it comes to one who does not allow this answer. */
export const MetadataOnly = wire({
  status: Schema.Literal("complete_metadata"),
  responsePayloadSize: optional(Count)
})

/** The operation failed: `user` for what it was asked, `server` for how it was done. */
export const Failed = Schema.Struct({
  error: Schema.String,
  category: optional(Schema.String)
})

/** Errors of HTTP, as FastAPI writes them: text, or a list of what is wrong with the request. */
export const Detail = Schema.Struct({ detail: Schema.Unknown })

export const CancelFuture = wire({ requestId: Schema.String })
