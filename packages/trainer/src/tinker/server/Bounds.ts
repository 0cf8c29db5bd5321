/**
 * Checks numbers in requests against bounds, before they determine allocations, waits or writes. The service interprets
 * them; these are only limits.
 */
import { Effect } from "effect"
import * as Sampling from "../protocol/Sampling.ts"
import { Refused } from "../service/Failures.ts"
import type { Service } from "../service/Service.ts"
import * as Http from "./Http.ts"

type Given = number | null | undefined
type Bound = readonly [name: string, value: Given, minimum: number, maximum: number]

/** A hundred years; checkpoints to be kept forever have no ttl. */
export const maxTtlSeconds = 100 * 366 * 86_400
const maxTop = 256
/** Max positions of all completions of a request, with their alternatives: a quarter of a gigabyte. */
const maxPositions = 2 ** 25
const maxTemperature = 100
const maxStops = 64
const maxStopCharacters = 1024

const refuse = (message: string) => Effect.fail(new Refused({ status: 400, message }))

/** Fails for the first number out of bounds; omitted ones are valid. */
export const check = (...bounds: ReadonlyArray<Bound>): Effect.Effect<void, Refused> => {
  const violated = bounds.find(
    ([, value, minimum, maximum]) => value !== undefined && value !== null && !(value >= minimum && value <= maximum)
  )
  if (violated === undefined) return Effect.void
  const [name, value, minimum, maximum] = violated
  return refuse(`${name}: from ${minimum} to ${maximum}, not ${value}`)
}

export const numbers = (sent: {
  readonly seqId?: Given
  readonly modelSeqId?: Given
  readonly samplingSessionSeqId?: Given
  readonly ttlSeconds?: Given
}): Effect.Effect<void, Refused> =>
  check(
    ["seq_id", sent.seqId, 0, Http.maxNumber],
    ["model_seq_id", sent.modelSeqId, 0, Http.maxNumber],
    ["sampling_session_seq_id", sent.samplingSessionSeqId, 0, Http.maxNumber],
    ["ttl_seconds", sent.ttlSeconds, 0, maxTtlSeconds]
  )

const stopsOf = (stop: Sampling.SamplingParams["stop"]): ReadonlyArray<number | string> =>
  stop === undefined || stop === null ? [] : typeof stop === "string" ? [stop] : stop

export const sample = (
  value: Sampling.Sample,
  { limits: { maxSequenceTokens, vocabSize }, settings: { maxSamples } }: Pick<Service, "limits" | "settings">
): Effect.Effect<void, Refused> =>
  Effect.gen(function* () {
    const { samplingParams: params } = value
    const top = Math.min(maxTop, vocabSize)
    yield* numbers(value)
    yield* check(
      ["num_samples", value.numSamples, 1, maxSamples],
      ["temperature", params.temperature, 0, maxTemperature],
      ["top_p", params.topP, 0, 1],
      ["top_k", params.topK, -1, Number.MAX_SAFE_INTEGER],
      ["topk_prompt_logprobs", value.topkPromptLogprobs, 0, top],
      ["topk_sample_logprobs", value.topkSampleLogprobs, 0, top]
    )
    const length = value.prompt.chunks.reduce(
      (sum, chunk) => sum + (Sampling.isText(chunk) ? chunk.tokens.length : 0),
      0
    )
    if (length > maxSequenceTokens) {
      return yield* refuse(`the prompt has ${length} tokens; a sequence has at most ${maxSequenceTokens}`)
    }
    const stops = stopsOf(params.stop)
    const isLong = stops.some((stop) => typeof stop === "string" && stop.length > maxStopCharacters)
    if (isLong || (typeof stops[0] === "string" && stops.length > maxStops) || stops.length > vocabSize) {
      return yield* refuse(`stop: up to ${maxStops} strings of ${maxStopCharacters} characters, or ids of tokens`)
    }
    const contextLeft = Math.max(1, maxSequenceTokens - length)
    const perSample = Math.min(params.maxTokens ?? contextLeft, contextLeft) * (1 + (value.topkSampleLogprobs ?? 0))
    const positions = (value.numSamples ?? 1) * perSample + length * (value.topkPromptLogprobs ?? 0)
    if (positions > maxPositions) {
      return yield* refuse(
        `num_samples, max_tokens and top-k logprobs make ${positions} numbers of one request, more than ${maxPositions}: ask for fewer samples at once`
      )
    }
  })
