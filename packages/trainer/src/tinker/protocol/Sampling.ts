/**
 * Bodies of sampling requests. Responses are binary (`SampleAnswer`). Token lists remain the parsed JSON arrays: they
 * are validated once and not copied.
 */
import { wire } from "@atropos/core/service/api/Fields"
import { Schema } from "effect"
import { Count, finite, optional } from "./Optional.ts"

export const CreateSamplingSession = wire({
  sessionId: Schema.String,
  /** From 0, shared with save_weights_for_sampler: the same number is the same sampling session. */
  samplingSessionSeqId: Count,
  baseModel: optional(Schema.String),
  modelPath: optional(Schema.String),
  type: optional(Schema.Literal("create_sampling_session"))
})

export const SamplingSessionCreated = wire({
  type: optional(Schema.Literal("create_sampling_session")),
  samplingSessionId: Schema.NonEmptyString
})

const areTokens = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.every((token) => Number.isInteger(token) && token >= 0 && token <= 0x7fff_ffff)

export const TokenIds = Schema.declare(areTokens, { expected: "a list of token ids" })

/**
 * A chunk of a prompt; SDKs of 2025 omit the type of text. Non-text chunks are kept as received, to be rejected by
 * name.
 */
export const TextChunk = Schema.Struct({ tokens: TokenIds, type: Schema.optionalKey(Schema.Literal("encoded_text")) })
export const OtherChunk = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
export const ModelInput = Schema.Struct({ chunks: Schema.Array(Schema.Union([TextChunk, OtherChunk])) })

export const SamplingParams = wire({
  maxTokens: optional(Count),
  seed: optional(Schema.Int),
  /** Strings, or token ids. */
  stop: optional(Schema.Union([Schema.String, Schema.Array(Schema.String), TokenIds])),
  temperature: finite,
  /** -1: all tokens. */
  topK: optional(Schema.Int),
  topP: finite
})
export type SamplingParams = typeof SamplingParams.Type

export const samplingDefaults = { temperature: 1, topK: -1, topP: 1, numSamples: 1 } as const

export const Sample = wire({
  numSamples: optional(Count),
  prompt: ModelInput,
  samplingParams: SamplingParams,
  baseModel: optional(Schema.String),
  modelPath: optional(Schema.String),
  samplingSessionId: optional(Schema.String),
  /** From 0 in a sampling session: the same number is the same request. */
  seqId: optional(Count),
  /** Also return the prompt's own logprobs. */
  promptLogprobs: optional(Schema.Boolean),
  promptLogprobsLastN: optional(Count),
  topkPromptLogprobs: optional(Count),
  topkSampleLogprobs: optional(Count),
  targetPromptLogprobs: optional(Schema.Unknown),
  promptAltTokensK: optional(Count),
  recordStabilityInfo: optional(Schema.Boolean),
  type: optional(Schema.Literal("sample"))
})
export type Sample = typeof Sample.Type

/** The ids of a prompt; undefined if a chunk is not text. */
export const promptTokens = ({ chunks }: typeof ModelInput.Type): ReadonlyArray<number> | undefined => {
  const ids: Array<number> = []
  for (const chunk of chunks) {
    if (!isText(chunk)) return undefined
    for (const token of chunk.tokens) ids.push(token)
  }
  return ids
}

export const isText = (chunk: typeof TextChunk.Type | typeof OtherChunk.Type): chunk is typeof TextChunk.Type =>
  chunk.type === undefined || chunk.type === "encoded_text"
