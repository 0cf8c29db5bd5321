/**
 * How a sequence was sampled: what a trainer must know to compute the same distribution.
 *
 * Recorded by the back end with every answer, carried by the trajectory, and on the wire in the group's
 * `generation_params`, or, where the sequences of a group were sampled differently, in `overrides[i]` (`temperature` is
 * the original's key there, the others are vLLM's names).
 */
import { Schema } from "effect"

/**
 * What a sampled token's logprob is of, z being the logits:
 *
 *     raw         log softmax(z), whatever the temperature
 *     tempered    log softmax(z / temperature) over the whole vocabulary
 *     processed   the distribution that was drawn from: after temperature, top-k, top-p and min-p
 */
export const LogprobsMode = Schema.Literals(["raw", "tempered", "processed"])
export type LogprobsMode = typeof LogprobsMode.Type

export interface Sampling {
  /** 0: greedy; logprobs are then those of temperature 1. */
  readonly temperature: number
  /** 1: all tokens. */
  readonly topP: number
  /** 0: all tokens. */
  readonly topK: number
  /** Least probability as a share of the likeliest token's; 0: all tokens. */
  readonly minP: number
  readonly logprobs: LogprobsMode
}

/** What of a request decides how it is sampled. */
export interface Asked {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  /** The server's own names win, as they do in the request. */
  readonly extra?: { readonly [key: string]: unknown }
}

const numberOf = (switches: { readonly [key: string]: unknown } | undefined, key: string): number | undefined => {
  const value = switches?.[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

/** How a request is sampled by a server that does as it is told; what it leaves out is off, and temperature 1. */
export const ofRequest = ({ extra, minP, temperature, topK, topP }: Asked, logprobs: LogprobsMode): Sampling => ({
  temperature: numberOf(extra, "temperature") ?? temperature ?? 1,
  topP: numberOf(extra, "top_p") ?? topP ?? 1,
  topK: Math.max(0, numberOf(extra, "top_k") ?? topK ?? 0),
  minP: numberOf(extra, "min_p") ?? minP ?? 0,
  logprobs
})

export const areEqual = (a: Sampling | undefined, b: Sampling | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.temperature === b.temperature &&
    a.topP === b.topP &&
    a.topK === b.topK &&
    a.minP === b.minP &&
    a.logprobs === b.logprobs)

/** What to tell whoever sampled parts of one sequence differently. */
export const mixed =
  "its turns were sampled at different temperatures, top-p, top-k or min-p, so no trainer can compute their probabilities: " +
  "sample the turns of one sequence alike, or in sessions of their own"

/** One line for people: `temperature 0.7, top-p 0.95, raw logprobs`. */
export const describe = ({ logprobs, minP, temperature, topK, topP }: Sampling): string =>
  [
    `temperature ${temperature}`,
    ...(topP < 1 ? [`top-p ${topP}`] : []),
    ...(topK > 0 ? [`top-k ${topK}`] : []),
    ...(minP > 0 ? [`min-p ${minP}`] : []),
    `${logprobs} logprobs`
  ].join(", ")

/** The record as keys of `generation_params` or `overrides[i]`. */
export const toSwitches = ({ logprobs, minP, temperature, topK, topP }: Sampling) => ({
  temperature,
  top_p: topP,
  top_k: topK,
  min_p: minP,
  logprobs_mode: logprobs
})

export const isMode = Schema.is(LogprobsMode)

/** The record in switches of a group; absent where they say no mode of logprobs, as the original's do not. */
export const ofSwitches = (switches: { readonly [key: string]: unknown } | undefined): Sampling | undefined => {
  const mode = switches?.["logprobs_mode"]
  return isMode(mode) ? ofRequest(switches === undefined ? {} : { extra: switches }, mode) : undefined
}
