/**
 * Records how a sequence was sampled, so that a trainer can compute the same distribution.
 *
 * Recorded by the backend with every answer, carried by the trajectory, and sent in the group's `generation_params`, or
 * in `overrides[i]` if the sequences of a group were sampled differently (`temperature` is the original's key there,
 * the others are vLLM's names).
 */
import { Equal, Schema, Struct } from "effect"
import * as SamplingSettings from "./SamplingSettings.ts"

/**
 * Definition of a sampled token's logprob, with z the model's raw logits:
 *
 *     raw         log softmax(z), at any temperature
 *     tempered    log softmax(z / temperature) over the whole vocabulary
 *     processed   the distribution that was drawn from: after penalties, bias, temperature, top-k, top-p and min-p
 *
 * The trainer computes `tempered`. For `processed` logprobs it can correct for top-p, but not for anything in
 * `isShifted`.
 */
export const LogprobsMode = Schema.Literals(["raw", "tempered", "processed"])
export type LogprobsMode = typeof LogprobsMode.Type

type Adjustments = Pick<SamplingSettings.Distribution, (typeof SamplingSettings.adjustments)[number]>

/** Adjustments are absent if they are off. */
export interface Sampling extends Required<Omit<SamplingSettings.Distribution, keyof Adjustments>>, Adjustments {
  /** True if a grammar or a JSON schema masked tokens. Absent: no. */
  readonly isConstrained?: true
  readonly logprobs: LogprobsMode
}

/** By token id. */
export interface LogitBias {
  readonly [tokenId: string]: number
}

/** The fields of a request that determine its sampling. */
export interface Asked extends SamplingSettings.Distribution {
  /** Server-specific names, which take precedence as in the request. */
  readonly extra?: { readonly [key: string]: unknown }
}

const numberOf = (switches: { readonly [key: string]: unknown } | undefined, key: string): number | undefined => {
  const value = switches?.[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

const biasOf = (switches: { readonly [key: string]: unknown } | undefined): LogitBias | undefined => {
  const value = switches?.["logit_bias"]
  return isBias(value) ? value : undefined
}
const isBias = Schema.is(Schema.Record(Schema.String, Schema.Finite))

/** Request keys for constrained output, as named by OpenAI, vLLM and SGLang. */
const constraints = [
  "structured_outputs",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "json_schema",
  "regex",
  "ebnf"
]

const isConstraining = (switches: { readonly [key: string]: unknown } | undefined): boolean => {
  if (switches === undefined) return false
  const format = switches["response_format"]
  const type = typeof format === "object" && format !== null && "type" in format ? format.type : "text"
  return type !== "text" || constraints.some((word) => (switches[word] ?? null) !== null)
}

/** The sampling of a compliant server for a request; absent fields are off, and temperature 1. */
export const ofRequest = (request: Asked, logprobs: LogprobsMode): Sampling => {
  const { extra, minP, temperature, topK, topP } = request
  const repetitionPenalty = numberOf(extra, "repetition_penalty") ?? request.repetitionPenalty ?? 1
  const presencePenalty = numberOf(extra, "presence_penalty") ?? request.presencePenalty ?? 0
  const frequencyPenalty = numberOf(extra, "frequency_penalty") ?? request.frequencyPenalty ?? 0
  const logitBias = biasOf(extra) ?? request.logitBias ?? {}
  const isConstrained = extra?.["constrained"] === true || isConstraining(extra)
  return {
    temperature: numberOf(extra, "temperature") ?? temperature ?? 1,
    topP: numberOf(extra, "top_p") ?? topP ?? 1,
    topK: Math.max(0, numberOf(extra, "top_k") ?? topK ?? 0),
    minP: numberOf(extra, "min_p") ?? minP ?? 0,
    ...(repetitionPenalty !== 1 && { repetitionPenalty }),
    ...(presencePenalty !== 0 && { presencePenalty }),
    ...(frequencyPenalty !== 0 && { frequencyPenalty }),
    ...(Object.keys(logitBias).length > 0 && { logitBias }),
    ...(isConstrained && { isConstrained }),
    logprobs
  }
}

/** True if logits were changed individually or tokens were masked by a constraint: a trainer cannot reproduce that. */
export const isShifted = (sampling: Adjustments & Pick<Sampling, "isConstrained">): boolean =>
  sampling.isConstrained === true || SamplingSettings.adjustments.some((name) => sampling[name] !== undefined)

export const areEqual = (a: Sampling | undefined, b: Sampling | undefined): boolean => a === b || Equal.equals(a, b)

/** Warning for parts of one sequence that were sampled differently. */
export const mixed =
  "its turns were sampled at different temperatures, top-p, top-k, min-p, penalties or constraints, so their probabilities cannot be recomputed: " +
  "sample the turns of one sequence with the same options, or in separate sessions"

/** One human-readable line: `temperature 0.7, top-p 0.95, raw logprobs`. */
export const describe = (sampling: Sampling): string =>
  [
    `temperature ${sampling.temperature}`,
    ...(sampling.topP < 1 ? [`top-p ${sampling.topP}`] : []),
    ...(sampling.topK > 0 ? [`top-k ${sampling.topK}`] : []),
    ...(sampling.minP > 0 ? [`min-p ${sampling.minP}`] : []),
    ...(sampling.repetitionPenalty === undefined ? [] : [`repetition penalty ${sampling.repetitionPenalty}`]),
    ...(sampling.presencePenalty === undefined ? [] : [`presence penalty ${sampling.presencePenalty}`]),
    ...(sampling.frequencyPenalty === undefined ? [] : [`frequency penalty ${sampling.frequencyPenalty}`]),
    ...(sampling.logitBias === undefined ? [] : [`bias on ${Object.keys(sampling.logitBias).length} tokens`]),
    ...(sampling.isConstrained === true ? ["constrained output"] : []),
    `${sampling.logprobs} logprobs`
  ].join(", ")

/** The record as keys of `generation_params` or `overrides[i]`; fields other than the first five are absent if off. */
export const toSwitches = ({ isConstrained, logprobs, ...parameters }: Sampling) => ({
  ...Struct.renameKeys(parameters, SamplingSettings.wireNames),
  ...(isConstrained === true && { constrained: true }),
  logprobs_mode: logprobs
})

export const isMode = Schema.is(LogprobsMode)

/** The record in a group's switches; undefined if they state no logprobs mode, as the original's do not. */
export const ofSwitches = (switches: { readonly [key: string]: unknown } | undefined): Sampling | undefined => {
  const mode = switches?.["logprobs_mode"]
  return isMode(mode) ? ofRequest(switches === undefined ? {} : { extra: switches }, mode) : undefined
}
