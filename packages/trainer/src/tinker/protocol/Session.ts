/**
 * Bodies of the handshake: configuration, available models, and the session, which lives as long as its heartbeats
 * arrive.
 */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, Metadata, optional } from "./Optional.ts"

export const ClientConfigRequest = wire({ sdkVersion: Schema.String })

/** The server's settings for its clients; each has a default, and there may be more. */
export const ClientConfig = wire({
  pjwtAuthEnabled: optional(Schema.Boolean),
  /** Compress bodies of forward_backward with zstd. */
  protoCompressFwdbwd: optional(Schema.Boolean),
  fwdbwdMaxChunkLen: optional(Count),
  /** Max bytes of its tensors, before compression. */
  fwdbwdMaxChunkBytesCount: optional(Count),
  /** Allow sending the requests of one batch concurrently, the first one last. */
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
  /** Max tokens of prompt and completion. */
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

/**
 * Sent by clients, unused.
 *
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
