/**
 * Sampling sessions: whose weights are sampled from, under an id that clients ask by.
 *
 * Weights are the base model's, those of a checkpoint, or those that a model had when it was asked for a sampling
 * session; the latter lie on disk for as long as the session, or until nobody used them for some time.
 */
import { Clock, Effect, Result } from "effect"
import type { Shape as Engine } from "../../engine/Engine.ts"
import * as Completions from "../../server/Completions.ts"
import type { Model } from "../../model/Model.ts"
import * as SampleAnswer from "../protocol/SampleAnswer.ts"
import * as Sampling from "../protocol/Sampling.ts"
import * as Adapters from "./Adapters.ts"
import * as CheckpointFolder from "./CheckpointFolder.ts"
import { broken, notFound, type OperationFailed, Refused, wrong } from "./Failures.ts"
import * as Policies from "./Policies.ts"

/** Where a sampling session's weights come from. */
export type Source =
  | { readonly from: "base" }
  | { readonly from: "checkpoint"; readonly saved: CheckpointFolder.Saved }
  | { readonly from: "snapshot"; readonly folder: string; readonly model: Adapters.Adapted }

export interface SamplingSession {
  readonly id: string
  readonly session: string
  readonly source: Source
  /** As the client gave it. */
  readonly modelPath: string | undefined
  usedAt: number
}

export interface Options {
  readonly base: Model
  readonly engine: Engine
  readonly checkpoints: CheckpointFolder.CheckpointFolder
  /** The adapter that the sampler's graph has room for. */
  readonly widest: Adapters.Adapted
  readonly endTokenIds: ReadonlyArray<number>
  readonly maxPolicies: number
  readonly maxSequenceTokens: number
  /** Completions that may be under way and wait. */
  readonly maxSamples: number
}

const sampleFailed = broken("the sampler")

const nameOf = (source: Source): string => {
  switch (source.from) {
    case "base":
      return Policies.base
    case "checkpoint":
      return `${CheckpointFolder.pathOf(source.saved)}@${source.saved.info.created}`
    case "snapshot":
      return source.folder
  }
}

/** The tokens and strings that end a completion: the client's, else the model's own. */
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
  return sample.recordStabilityInfo === true ? "record_stability_info" : undefined
}

/** Alternatives of several positions as matrices; where there are fewer, the protocol's token 0 and logprob -99999. */
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

export const make = Effect.fnUntraced(function* (options: Options) {
  const { base, checkpoints, endTokenIds, engine, widest } = options
  const policies = yield* Policies.make(engine, options.maxPolicies)
  const completions = Completions.make(engine, base.tokenizer)
  const sessions = new Map<string, SamplingSession>()
  let unanswered = 0

  const weightsOf = (source: Source): Effect.Effect<Float32Array, OperationFailed> => {
    switch (source.from) {
      case "base":
        return Effect.succeed(new Float32Array(widest.layout.size))
      case "checkpoint":
        return Effect.map(checkpoints.readWeights(source.saved), ({ model, parameters }) =>
          Adapters.widen(model, parameters, widest)
        )
      case "snapshot":
        return Effect.map(checkpoints.readSnapshot(source.folder, source.model), (parameters) =>
          Adapters.widen(source.model, parameters, widest)
        )
    }
  }

  /** What the engine is asked, checked. */
  const requestOf = Effect.fnUntraced(function* (sample: Sampling.Sample) {
    const { samplingParams: params } = sample
    const field = unsupported(sample)
    if (field !== undefined) return yield* wrong(`${field} is not done here`)
    const promptTokens = Sampling.promptTokens(sample.prompt)
    if (promptTokens === undefined)
      return yield* wrong("the prompt has parts that are no text: this model takes tokens alone")
    if (promptTokens.length === 0) return yield* wrong("the prompt is empty: at least one token is needed")
    const room = options.maxSequenceTokens - promptTokens.length
    const topK = params.topK ?? Sampling.samplingDefaults.topK
    const stops = stopsOf(params.stop, endTokenIds)
    const request: Completions.Request = {
      promptTokens,
      n: sample.numSamples ?? 1,
      maxTokens: params.maxTokens ?? Math.max(1, room),
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
    return request
  })

  const promptOf = Effect.fnUntraced(function* (
    sample: Sampling.Sample,
    promptTokens: ReadonlyArray<number>,
    policy: string
  ) {
    const k = sample.topkPromptLogprobs ?? 0
    if (sample.promptLogprobs !== true && k === 0) return { promptLogprobs: undefined, promptTop: undefined }
    const scored = yield* engine.score({ promptTokens, policy, ...(k > 0 && { topLogprobs: k }) })
    const first = Math.max(1, promptTokens.length - (sample.promptLogprobsLastN ?? promptTokens.length))
    return {
      promptLogprobs:
        sample.promptLogprobs === true ? scored.logprobs.map((logprob, at) => (at < first ? NaN : logprob)) : undefined,
      promptTop:
        k === 0
          ? undefined
          : topOf(
              promptTokens.map((_, at) => (at < first ? undefined : scored.alternatives[at])),
              k
            )
    }
  })

  const answer = Effect.fnUntraced(function* (sample: Sampling.Sample, source: Source) {
    const request = yield* requestOf(sample)
    const policy = nameOf(source)
    const k = sample.topkSampleLogprobs ?? 0
    const [all, prompt] = yield* policies.use(
      policy,
      weightsOf(source),
      Effect.all([completions.collect({ ...request, policy }), promptOf(sample, request.promptTokens, policy)], {
        concurrency: 2
      }).pipe(Effect.mapError(toFailure))
    )
    return {
      sequences: all.map(({ alternatives, finishReason, logprobs, tokens }) => ({
        stopReason: finishReason,
        tokens: Int32Array.from(tokens),
        logprobs: Float32Array.from(logprobs),
        top: k === 0 ? undefined : topOf(alternatives, k)
      })),
      ...prompt,
      promptCacheHits: 0
    } satisfies SampleAnswer.Answer
  })

  const sessionOf = (id: string): Effect.Effect<SamplingSession, Refused> =>
    Effect.gen(function* () {
      const found = sessions.get(id)
      if (found === undefined) {
        return yield* notFound(`there is no sampling session ${id}: its session ended, or the server was started since`)
      }
      found.usedAt = yield* Clock.currentTimeMillis
      return found
    })

  const drop = (session: SamplingSession) =>
    Effect.gen(function* () {
      sessions.delete(session.id)
      if (session.source.from !== "snapshot") return
      yield* policies.release(nameOf(session.source))
      yield* checkpoints.removeSnapshot(session.source.folder)
    })

  return {
    sessionOf,
    has: (id: string) => sessions.has(id),
    ofSession: (session: string) => [...sessions.values()].filter((one) => one.session === session),
    open: Effect.fnUntraced(function* (id: string, session: string, source: Source, modelPath: string | undefined) {
      sessions.set(id, { id, session, source, modelPath, usedAt: yield* Clock.currentTimeMillis })
    }),
    /** The weights that a path or a base model's name mean; a checkpoint must be of this base model. */
    sourceOf: Effect.fnUntraced(function* (modelPath: string | null | undefined) {
      if (modelPath === undefined || modelPath === null) return { from: "base" } satisfies Source as Source
      const address = CheckpointFolder.parse(modelPath)
      if (address === undefined) {
        return yield* new Refused({
          status: 400,
          message: `${modelPath} is no path of weights: one is tinker://<model>/sampler_weights/<name>`
        })
      }
      const saved = yield* checkpoints.find(address)
      const adapted = yield* Effect.result(checkpoints.adaptedOf(saved))
      if (Result.isFailure(adapted)) return yield* new Refused({ status: 400, message: adapted.failure.message })
      if (adapted.success.kind.rank > widest.kind.rank) {
        return yield* new Refused({
          status: 400,
          message: `${modelPath} has the rank ${adapted.success.kind.rank}; this server samples from ranks up to ${widest.kind.rank}`
        })
      }
      return { from: "checkpoint", saved } satisfies Source as Source
    }),
    /** Counts the completions of a request until it is answered; undefined: there are too many already. */
    admit: (count: number) => {
      if (unanswered > 0 && unanswered + count > options.maxSamples) return undefined
      unanswered += count
      return Effect.sync(() => {
        unanswered -= count
      })
    },
    answer,
    endSession: (session: string) =>
      Effect.forEach(
        [...sessions.values()].filter((one) => one.session === session),
        drop,
        { discard: true }
      ),
    /** Lets go of weights of sampling sessions that nobody used for that long. */
    sweep: (unusedMillis: number) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const session of [...sessions.values()]) {
          if (session.source.from === "snapshot" && now - session.usedAt > unusedMillis) yield* drop(session)
        }
      })
  }
})

export type Samplers = Effect.Success<ReturnType<typeof make>>

/** What the engine says, as an operation's failure: of the client where the request was. */
const toFailure = (error: { readonly _tag: string; readonly message: string }): OperationFailed =>
  error._tag === "InvalidRequest" || error._tag === "PromptTooLong" ? wrong(error.message) : sampleFailed(error)
