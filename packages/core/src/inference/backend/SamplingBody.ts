/**
 * Writes sampling parameters in the form of each kind of server.
 *
 * Every parameter that affects the distribution is sent, even if off: servers fill in missing ones from the model's
 * `generation_config.json`. Unsupported parameters are rejected by name, never dropped. `extra`, the server-specific
 * parameters, takes precedence.
 */
import { Effect } from "effect"
import type { InferenceError, SamplingOptions } from "../wire/Inference.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import { unsupported } from "./Backend.ts"
import { type Identity, type Kind, nameOf } from "./Identity.ts"

export interface Body {
  readonly [key: string]: unknown
}

/** Parameters common to all servers, if set. */
const common = ({ maxTokens, n = 1, seed, stop }: SamplingOptions): Body => ({
  ...(n === 1 ? {} : { n }),
  ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  ...(stop === undefined || stop.length === 0 ? {} : { stop }),
  ...(seed === undefined ? {} : { seed })
})

const isBiased = ({ logitBias = {} }: SamplingOptions): boolean => Object.keys(logitBias).length > 0

/** OpenAI's own parameters, if set: hosted models reject some at any value but their default. */
export const openAi = (options: SamplingOptions): Body => ({
  ...common(options),
  ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
  ...(options.topP === undefined ? {} : { top_p: options.topP }),
  ...(options.presencePenalty === undefined ? {} : { presence_penalty: options.presencePenalty }),
  ...(options.frequencyPenalty === undefined ? {} : { frequency_penalty: options.frequencyPenalty }),
  ...(isBiased(options) ? { logit_bias: options.logitBias } : {}),
  ...options.extra
})

/**
 * The parameters of the distribution, under vLLM's and SGLang's names. -1 means "all" in every version of both, 0 only
 * in newer ones.
 */
const distribution = (options: SamplingOptions): Body => ({
  temperature: options.temperature ?? 1,
  top_p: options.topP ?? 1,
  top_k: options.topK || -1,
  min_p: options.minP ?? 0,
  repetition_penalty: options.repetitionPenalty ?? 1,
  presence_penalty: options.presencePenalty ?? 0,
  frequency_penalty: options.frequencyPenalty ?? 0,
  ...(isBiased(options) && { logit_bias: options.logitBias })
})

export const vllm = (options: SamplingOptions): Body => ({
  ...common(options),
  ...distribution(options),
  ...options.extra
})

export const sglang = (options: SamplingOptions): Body => {
  const { max_tokens: limit, seed, ...rest } = vllm(options)
  return {
    ...rest,
    ...(limit === undefined ? {} : { max_new_tokens: limit }),
    ...(seed === undefined ? {} : { sampling_seed: seed })
  }
}

/**
 * `generation_config` replaces the model's own, whose `do_sample` is usually off: without it every answer would be
 * greedy.
 */
const transformers = ({ extra, maxTokens, seed, stop, ...options }: SamplingOptions): Body => {
  const { minP, repetitionPenalty = 1, temperature, topK, topP } = Sampling.ofRequest(options, "raw")
  const config = {
    do_sample: temperature > 0,
    ...(temperature > 0 && { temperature, top_p: topP, top_k: topK, ...(minP > 0 && { min_p: minP }) }),
    repetition_penalty: repetitionPenalty,
    // The server's own default is 1024.
    max_new_tokens: maxTokens ?? 1024
  }
  return {
    ...common({
      ...(maxTokens !== undefined && { maxTokens }),
      ...(seed !== undefined && { seed }),
      ...(stop && { stop })
    }),
    generation_config: JSON.stringify(config),
    ...extra
  }
}

export const text = (
  server: string,
  identity: Identity,
  options: SamplingOptions
): Effect.Effect<Body, InferenceError> => {
  const { kind } = identity
  const refused =
    kind === "openai" ? beyondOpenAi(options) : kind === "transformers" ? beyondRepetition(options) : undefined
  if (refused !== undefined) return refuse(server, identity, refused)
  return Effect.succeed(dialects[kind](options))
}

const dialects: { readonly [K in Kind]: (options: SamplingOptions) => Body } = {
  vllm,
  patched: vllm,
  policy: vllm,
  // SGLang's OpenAI routes use the same names.
  sglang: vllm,
  trl: vllm,
  transformers,
  openai: openAi
}

const beyondOpenAi = ({ minP = 0, repetitionPenalty = 1, topK = 0 }: SamplingOptions): string | undefined =>
  topK > 0 ? "top_k" : minP > 0 ? "min_p" : repetitionPenalty !== 1 ? "repetition_penalty" : undefined

/** The first parameter not supported by a server whose only penalty is the repetition penalty. */
export const beyondRepetition = (options: SamplingOptions): string | undefined =>
  (options.presencePenalty ?? 0) !== 0
    ? "presence_penalty"
    : (options.frequencyPenalty ?? 0) !== 0
      ? "frequency_penalty"
      : isBiased(options)
        ? "logit_bias"
        : undefined

export const refuse = (server: string, identity: Identity, parameter: string): Effect.Effect<never, InferenceError> =>
  unsupported(server, parameter, `${nameOf(identity)} would silently ignore it`)

/**
 * The sampling of an answer: the logprobs mode reported by the server, else the known one. SGLang computes logprobs
 * after penalties and bias.
 */
export const recorded = (
  options: SamplingOptions,
  said: Sampling.LogprobsMode | undefined,
  { kind, logprobs }: Identity
): Sampling.Sampling => {
  const sampling = Sampling.ofRequest(options, said ?? logprobs ?? "raw")
  return kind === "sglang" && Sampling.isShifted(sampling) ? { ...sampling, logprobs: "processed" } : sampling
}
