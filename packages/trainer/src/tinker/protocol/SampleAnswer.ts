/**
 * The response of asample: tokens with their logprobs, and the prompt's logprobs on request, NaN for a token without
 * one (the first).
 */
import { create } from "@bufbuild/protobuf"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import {
  ElementType,
  type SampleResponse,
  SampleResponseSchema,
  StopReason,
  type TopLogprobs as TopMessage
} from "./gen/tinker_pb.ts"
import * as Tensor from "./Tensor.ts"
import { WireError } from "./WireError.ts"

/** Most likely tokens of each position: matrices (length, k), padded with token -1 and logprob NaN. */
export interface Top {
  readonly k: number
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
}

export interface Sequence {
  /** `stop`: a stop token or string; `length`: token limit reached. */
  readonly stopReason: "stop" | "length"
  readonly tokens: Int32Array
  readonly logprobs: Float32Array | undefined
  readonly top: Top | undefined
}

export interface Answer {
  readonly sequences: ReadonlyArray<Sequence>
  readonly promptLogprobs: Float32Array | undefined
  readonly promptTop: Top | undefined
  /** Prompt tokens taken from the prefix cache. */
  readonly promptCacheHits: number
}

const writeTop = ({ k, logprobs, tokens }: Top) => ({
  tokenIds: Tensor.bytesOf(tokens),
  logprobs: Tensor.bytesOf(logprobs),
  k,
  length: k === 0 ? 0 : tokens.length / k
})

const toMessage = ({ promptCacheHits, promptLogprobs, promptTop, sequences }: Answer): SampleResponse =>
  create(SampleResponseSchema, {
    sequences: sequences.map(({ logprobs, stopReason, tokens, top }) => ({
      stopReason: stopReason === "stop" ? StopReason.STOP : StopReason.LENGTH,
      tokens: Tensor.bytesOf(tokens),
      ...(logprobs && { logprobs: Tensor.bytesOf(logprobs) }),
      ...(top && { topkSampledLogprobs: writeTop(top) })
    })),
    ...(promptLogprobs && { promptLogprobs: Tensor.bytesOf(promptLogprobs) }),
    ...(promptTop && { topkPromptLogprobs: writeTop(promptTop) }),
    promptCacheHitTokens: promptCacheHits
  })

export const encode = (answer: Answer): Uint8Array => Binary.encode(SampleResponseSchema, toMessage(answer))

const ints = (bytes: Uint8Array, what: string) =>
  Effect.map(Tensor.readNumbers(bytes, ElementType.INT32, what), (values) => Int32Array.from(values))

const reals = (bytes: Uint8Array, what: string) =>
  Effect.map(Tensor.readNumbers(bytes, ElementType.FLOAT32, what), (values) => Float32Array.from(values))

const readTop = Effect.fnUntraced(function* (message: TopMessage | undefined, what: string) {
  if (message === undefined || message.k === 0 || message.length === 0) return undefined
  const { k, length } = message
  const tokens = yield* ints(message.tokenIds, what)
  const logprobs = yield* reals(message.logprobs, what)
  if (tokens.length !== k * length || logprobs.length !== k * length) {
    return yield* new WireError({ message: `${what}: ${tokens.length} tokens and ${logprobs.length} logprobs` })
  }
  return { k, tokens, logprobs } satisfies Top
})

export const decode = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const message = yield* Binary.decode(SampleResponseSchema, bytes, "a result of asample")
  const sequences: Array<Sequence> = []
  for (const [index, sequence] of message.sequences.entries()) {
    const what = `sample ${index}`
    const tokens = yield* ints(sequence.tokens, `tokens of ${what}`)
    // Absent and empty both mean that none were computed, except for a sample without tokens.
    const logprobs =
      sequence.logprobs === undefined || (sequence.logprobs.length === 0 && tokens.length > 0)
        ? undefined
        : yield* reals(sequence.logprobs, `logprobs of ${what}`)
    if (logprobs !== undefined && logprobs.length !== tokens.length) {
      return yield* new WireError({ message: `${what} has ${tokens.length} tokens but ${logprobs.length} logprobs` })
    }
    sequences.push({
      stopReason: sequence.stopReason === StopReason.STOP ? "stop" : "length",
      tokens,
      logprobs,
      top: yield* readTop(sequence.topkSampledLogprobs, `likeliest tokens of ${what}`)
    })
  }
  return {
    sequences,
    promptLogprobs:
      message.promptLogprobs === undefined || message.promptLogprobs.length === 0
        ? undefined
        : yield* reals(message.promptLogprobs, "logprobs of the prompt"),
    promptTop: yield* readTop(message.topkPromptLogprobs, "likeliest tokens of the prompt"),
    promptCacheHits: message.promptCacheHitTokens
  } satisfies Answer
})
