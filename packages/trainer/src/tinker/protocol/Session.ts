/**
 * Bodies of the start of a conversation: what client and server agree on, which models there are, and the session,
 * which lives as long as its heartbeats come.
 */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, Metadata, optional } from "./Optional.ts"

export const ClientConfigRequest = wire({ sdkVersion: Schema.String })

/** The server's wishes to its clients; each has a default, and there may be more. */
export const ClientConfig = wire({
  pjwtAuthEnabled: optional(Schema.Boolean),
  /** Bodies of forward_backward are compressed with zstd. */
  protoCompressFwdbwd: optional(Schema.Boolean),
  /** Data a request of forward_backward may hold. */
  fwdbwdMaxChunkLen: optional(Count),
  /** Bytes its tensors may take, before compression. */
  fwdbwdMaxChunkBytesCount: optional(Count),
  /** Whether the requests of one batch may be sent at once, the first one last. */
  parallelFwdbwdChunks: optional(Schema.Boolean),
  sampleMaxConcurrentRequests: optional(Count),
  sampleUseRetrieveFutures: optional(Schema.Boolean),
  customLossServerSide: optional(Schema.Boolean),
  sampleJoinSamplingSession: optional(Schema.Boolean)
})
export type ClientConfig = typeof ClientConfig.Type

export const configDefaults = {
  protoCompressFwdbwd: false,
  fwdbwdMaxChunkLen: 1024,
  fwdbwdMaxChunkBytesCount: 5_000_000,
  parallelFwdbwdChunks: true,
  sampleMaxConcurrentRequests: 2000
} as const

export const SupportedModel = wire({
  modelName: optional(Schema.String),
  /** Tokens of prompt and completion. */
  maxContextLength: optional(Count),
  trainable: optional(Schema.Boolean),
  sampleable: optional(Schema.Boolean)
})

export const Capabilities = wire({ supportedModels: Schema.Array(SupportedModel) })
export type Capabilities = typeof Capabilities.Type

export const CreateSession = wire({
  tags: Schema.Array(Schema.String),
  userMetadata: optional(Metadata),
  sdkVersion: Schema.String,
  projectId: optional(Schema.String),
  displayName: optional(Schema.String),
  type: optional(Schema.Literal("create_session"))
})

export const SessionCreated = wire({
  type: optional(Schema.Literal("create_session")),
  infoMessage: optional(Schema.String),
  warningMessage: optional(Schema.String),
  errorMessage: optional(Schema.String),
  sessionId: Schema.NonEmptyString
})

export const Heartbeat = wire({
  sessionId: Schema.String,
  type: optional(Schema.Literal("session_heartbeat"))
})

export const HeartbeatSeen = wire({ type: optional(Schema.Literal("session_heartbeat")) })

/** Clients send it, nobody needs it.
 * @public
 */
export const Telemetry = wire({
  events: Schema.Array(Schema.Unknown),
  platform: optional(Schema.String),
  sdkVersion: optional(Schema.String),
  sessionId: optional(Schema.String),
  processUuid: optional(Schema.String)
})

/** @public */
export const TelemetrySeen = wire({ status: Schema.Literal("accepted") })
