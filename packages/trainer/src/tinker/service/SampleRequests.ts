/**
 * Converts sampling requests to the engine's, and the engine's answers to the protocol's.
 *
 * Logprobs are of the distribution at the request's temperature, before top-k and top-p. A completion keeps the token
 * or characters that stopped it. Without `stop` it ends with the model's own end tokens; stop strings apply in addition
 * to these, stop token ids instead of them.
 */
import type { Tokenizer } from "@atropos/core"
import { Effect } from "effect"
import type { Shape as Engine } from "../../engine/Engine.ts"
import * as Completions from "../../server/Completions.ts"
import type * as SampleAnswer from "../protocol/SampleAnswer.ts"
import * as Sampling from "../protocol/Sampling.ts"
import { broken, type OperationFailed, wrong } from "./Failures.ts"

/** Stop tokens and strings of a completion: the client's, else the model's own. */
const stopsOf = (stop: Sampling.SamplingParams["stop"], endTokenIds: ReadonlyArray<number>) => {
  if (stop === undefined || stop === null || stop.length === 0) return { strings: [], tokens: endTokenIds }
  if (typeof stop === "string") return { strings: [stop], tokens: endTokenIds }
  return typeof stop[0] === "string"
    ? { strings: stop as ReadonlyArray<string>, tokens: endTokenIds }
    : { strings: [], tokens: stop as ReadonlyArray<number> }
}

const unsupported = (sample: Sampling.Sample): string | undefined => {
  if (sample.targetPromptLogprobs !== undefined && sample.targetPromptLogprobs !== null) return "target_prompt_logprobs"
  if ((sample.promptAltTokensK ?? 0) > 0) return "prompt_alt_tokens_k"
  return undefined
}

/** Alternatives of several positions as matrices, padded with the protocol's token 0 and logprob -99999. */
const topOf = (
  rows: ReadonlyArray<{ readonly tokens: ReadonlyArray<number>; readonly logprobs: ReadonlyArray<number> } | undefined>,
  k: number
): SampleAnswer.Top => {
  const tokens = new Int32Array(rows.length * k)
  const logprobs = new Float32Array(rows.length * k).fill(-99_999)
  for (const [at, row] of rows.entries()) {
    tokens.set(row?.tokens.slice(0, k) ?? [], at * k)
    logprobs.set(row?.logprobs.slice(0, k) ?? [], at * k)
  }
  return { k, tokens, logprobs }
}

export interface Limits {
  readonly endTokenIds: ReadonlyArray<number>
  readonly maxSequenceTokens: number
}

/**
 * Validates a request for the engine. A completion's length is limited to what the prompt leaves, even if more is
 * requested.
 */
export const read = Effect.fnUntraced(function* (
  sample: Sampling.Sample,
  { endTokenIds, maxSequenceTokens }: Limits
): Effect.fn.Return<Completions.Request, OperationFailed> {
  const { samplingParams: params } = sample
  const field = unsupported(sample)
  if (field !== undefined) return yield* wrong(`${field} is not supported`)
  if (sample.recordStabilityInfo === true) {
    return yield* wrong(
      "record_stability_info is not supported: it is for the loss stable_reinforce, which this server lacks. " +
        "Use another; recipes of the cookbook take loss_fn=importance_sampling, ppo or cispo"
    )
  }
  const promptTokens = Sampling.promptTokens(sample.prompt)
  if (promptTokens === undefined) {
    return yield* wrong("the prompt has parts that are not text: this model supports only tokens")
  }
  if (promptTokens.length === 0) return yield* wrong("the prompt is empty: at least one token is needed")
  const contextLeft = Math.max(1, maxSequenceTokens - promptTokens.length)
  const topK = params.topK ?? Sampling.samplingDefaults.topK
  const stops = stopsOf(params.stop, endTokenIds)
  return {
    promptTokens,
    n: sample.numSamples ?? 1,
    maxTokens: Math.min(params.maxTokens ?? contextLeft, contextLeft),
    temperature: params.temperature ?? Sampling.samplingDefaults.temperature,
    topP: params.topP ?? Sampling.samplingDefaults.topP,
    topK: topK === -1 ? 0 : topK,
    stop: stops.strings,
    stopTokenIds: stops.tokens,
    includeStop: true,
    skipSpecialTokens: false,
    ...(params.seed !== undefined && params.seed !== null && { seed: params.seed }),
    ...((sample.topkSampleLogprobs ?? 0) > 0 && { topLogprobs: sample.topkSampleLogprobs! })
  }
})

type Asked = Completions.Request & { readonly policy: string }

/** Logprobs of the prompt's tokens, if requested; the first has none. */
const promptOf = Effect.fnUntraced(function* (
  engine: Engine,
  { policy, promptTokens }: Asked,
  sample: Sampling.Sample
) {
  const k = sample.topkPromptLogprobs ?? 0
  if (sample.promptLogprobs !== true && k === 0) return { promptLogprobs: undefined, promptTop: undefined }
  const { alternatives, logprobs } = yield* engine.score({ promptTokens, policy, ...(k > 0 && { topLogprobs: k }) })
  const first = Math.max(1, promptTokens.length - (sample.promptLogprobsLastN ?? promptTokens.length))
  const isScored = (at: number) => at >= first
  const rows = promptTokens.map((_, at) => (isScored(at) ? alternatives[at] : undefined))
  return {
    promptLogprobs:
      sample.promptLogprobs === true ? logprobs.map((logprob, at) => (isScored(at) ? logprob : NaN)) : undefined,
    promptTop: k === 0 ? undefined : topOf(rows, k)
  }
})

export const asker = (engine: Engine, tokenizer: Tokenizer.TokenizerShape) => {
  const completions = Completions.make(engine, tokenizer)
  return (request: Asked, sample: Sampling.Sample): Effect.Effect<SampleAnswer.Answer, OperationFailed> => {
    const k = sample.topkSampleLogprobs ?? 0
    return Effect.all([completions.collect(request), promptOf(engine, request, sample)], { concurrency: 2 }).pipe(
      Effect.mapBoth({
        onFailure: toFailure,
        onSuccess: ([all, prompt]) => ({
          sequences: all.map(({ alternatives, finishReason, logprobs, tokens }) => ({
            stopReason: finishReason,
            tokens: Int32Array.from(tokens),
            logprobs: Float32Array.from(logprobs),
            top: k === 0 ? undefined : topOf(alternatives, k)
          })),
          ...prompt,
          promptCacheHits: 0
        })
      })
    )
  }
}

const sampleFailed = broken("the sampler")

/** Converts an engine error to an operation failure, of category `user` for invalid requests. */
const toFailure = (error: { readonly _tag: string; readonly message: string }): OperationFailed =>
  error._tag === "InvalidRequest" || error._tag === "PromptTooLong" ? wrong(error.message) : sampleFailed(error)
