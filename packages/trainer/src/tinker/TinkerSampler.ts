/**
 * Samples on a Tinker server through the interface of the in-process engine. Requests use the weights published last
 * (`switchTo`; `load` is unsupported), and wait for the first ones. Sampling sessions lost by the server are reopened
 * from the path of their weights.
 */
import { Deferred, Effect, Stream } from "effect"
import * as Engine from "../engine/Engine.ts"
import * as LogitAdjustments from "../engine/LogitAdjustments.ts"
import * as RequestCheck from "../engine/RequestCheck.ts"
import * as SamplingSession from "./client/SamplingSession.ts"
import type { Session } from "./client/Session.ts"
import type { TinkerError } from "./client/TinkerError.ts"
import type * as SampleAnswer from "./protocol/SampleAnswer.ts"

export interface Options {
  readonly session: Session
  /** Name of the policy for clients. */
  readonly modelName: string
  readonly vocabSize: number
  readonly maxSequenceTokens: number
}

interface Published {
  readonly path: string
  readonly version: number
  readonly sampler: SamplingSession.SamplingSession
}

export interface TinkerSampler {
  readonly engine: Engine.Shape
  /** Later requests use these weights; completes when the server accepts them. */
  readonly switchTo: (path: string, version: number) => Effect.Effect<void, TinkerError>
}

const busyMillis = 1000

const toEngineError = (error: TinkerError): Engine.EngineError => {
  const { message, reason, retryAfterMillis = busyMillis } = error
  if (reason === "overloaded") return new Engine.EngineOverloaded({ waiting: 0, retryAfterMillis })
  return reason === "refused"
    ? new Engine.InvalidRequest({ field: "request", message })
    : new Engine.EngineFailed({ message, cause: error })
}

const failed = (message: string) => new Engine.EngineFailed({ message })

const problem = (request: Engine.GenerateRequest, modelName: string) => {
  const { minP = 0, policy, topLogprobs = 0 } = request
  if (request.schema !== undefined) {
    return new Engine.InvalidRequest({
      field: "schema",
      message: "a Tinker server cannot constrain answers to a schema"
    })
  }
  if (LogitAdjustments.isAdjusting(request)) {
    const message =
      "a Tinker server does not support repetition_penalty, presence_penalty, frequency_penalty or logit_bias"
    return new Engine.InvalidRequest({ field: "penalties", message })
  }
  if (minP !== 0)
    return new Engine.InvalidRequest({ field: "min_p", message: "a Tinker server does not support min_p" })
  if (topLogprobs !== 0) {
    return new Engine.InvalidRequest({
      field: "top_logprobs",
      message: "a Tinker server returns only the sampled token"
    })
  }
  return policy === undefined || policy === modelName
    ? undefined
    : new Engine.UnknownPolicy({ policy, loaded: [modelName] })
}

export const make = Effect.fn("TinkerSampler.make")(function* (options: Options) {
  const { maxSequenceTokens, modelName, session, vocabSize } = options
  const limits = { vocabulary: vocabSize, maxSequenceTokens }
  const first = yield* Deferred.make<Published>()
  let published: Published | undefined
  let generatedTokens = 0
  let promptTokens = 0
  let running = 0

  const current = Effect.suspend(() => (published ? Effect.succeed(published) : Deferred.await(first)))

  const openAs = Effect.fnUntraced(function* (path: string, version: number) {
    return { path, version, sampler: yield* SamplingSession.open(session, { path }) } satisfies Published
  })

  /** Opens another session with the same weights if the server lost this one. */
  const reopened = Effect.fnUntraced(function* (lost: Published) {
    if (published !== lost) return yield* current
    const again = yield* openAs(lost.path, lost.version)
    if (published === lost) published = again
    return again
  })

  const sample = Effect.fnUntraced(function* (request: SamplingSession.Request) {
    const now = yield* current
    running++
    const answer = yield* Effect.catchIf(
      now.sampler.sample(request),
      ({ reason }) => reason === "gone",
      () => Effect.flatMap(reopened(now), ({ sampler }) => sampler.sample(request))
    ).pipe(Effect.ensuring(Effect.sync(() => void running--)))
    promptTokens += request.prompt.length
    return { answer, version: now.version }
  }, Effect.mapError(toEngineError))

  const completionOf = Effect.fnUntraced(function* (
    { logprobs, stopReason, tokens }: SampleAnswer.Sequence,
    { stopTokenIds }: Engine.GenerateRequest,
    policyVersion: number
  ) {
    if (logprobs === undefined) return yield* failed(`${session.server} answered a sample without logprobs`)
    // The text ends before the stopping token, so the tokens must include it.
    if (stopReason === "stop" && !stopTokenIds.includes(tokens.at(-1) ?? -1)) {
      return yield* failed(`${session.server} omitted the token that ended a sample`)
    }
    generatedTokens += tokens.length
    return {
      tokens,
      logprobs,
      finishReason: stopReason,
      policy: modelName,
      policyVersion
    } satisfies Engine.TokenCompletion
  })

  const generate = Effect.fn("TinkerSampler.generate")(function* (request: Engine.GenerateRequest) {
    yield* RequestCheck.checkGenerate(request, limits)
    const wrong = problem(request, modelName)
    if (wrong !== undefined) return yield* wrong
    const { maxTokens, n, promptTokens: prompt, seed, stopTokenIds, temperature, topK, topP } = request
    const { answer, version } = yield* sample({
      prompt,
      numSamples: n,
      params: {
        maxTokens,
        temperature,
        topP,
        topK: topK === 0 ? -1 : topK,
        stop: stopTokenIds,
        ...(seed !== undefined && { seed })
      }
    })
    if (answer.sequences.length !== n) {
      return yield* failed(`${session.server} answered ${answer.sequences.length} samples of ${n}`)
    }
    return yield* Effect.forEach(answer.sequences, (sequence) => completionOf(sequence, request, version))
  })

  const engine: Engine.Shape = {
    generate,
    // All at the end: the protocol does not stream.
    stream: (request) => Stream.fromIterableEffect(Effect.map(generate(request), (all) => all.flatMap(eventsOf))),
    score: Effect.fn("TinkerSampler.score")(function* (request) {
      yield* RequestCheck.checkScore(request, limits)
      return yield* scored(session.server, modelName, request, sample)
    }),
    load: () => Effect.fail(failed("weights of a Tinker server are published by its learner")),
    unload: () => Effect.void,
    status: Effect.sync(() => ({
      running,
      waiting: 0,
      tokensPerSecond: 0,
      generatedTokens,
      promptTokens,
      cachedPromptTokens: 0,
      guessedTokens: 0,
      acceptedGuesses: 0,
      kvBytes: 0,
      prefixBytes: 0,
      kvLimitBytes: 0,
      policies: published ? [{ policy: modelName, policyVersion: published.version, running }] : [],
      restarts: 0
    })),
    health: Effect.void
  }

  return {
    engine,
    switchTo: Effect.fn("TinkerSampler.switchTo")(function* (path, version) {
      published = yield* openAs(path, version)
      yield* Deferred.succeed(first, published)
    })
  } satisfies TinkerSampler
})

type Sample = (
  request: SamplingSession.Request
) => Effect.Effect<{ readonly answer: SampleAnswer.Answer; readonly version: number }, Engine.EngineError>

/** Logprobs of a prompt, by sampling one token. */
const scored = Effect.fnUntraced(function* (
  server: string,
  modelName: string,
  { promptTokens: prompt, temperature = 1, topLogprobs = 0 }: Engine.ScoreRequest,
  sample: Sample
) {
  if (temperature !== 1) {
    return yield* new Engine.InvalidRequest({
      field: "temperature",
      message: `${server} returns logprobs at temperature 1 only`
    })
  }
  const { answer, version } = yield* sample({
    prompt,
    numSamples: 1,
    params: { maxTokens: 1, temperature: 1 },
    promptLogprobs: true,
    topkPromptLogprobs: topLogprobs
  })
  const logprobs = promptLogprobsOf(answer, prompt.length)
  if (logprobs === undefined || (topLogprobs > 0 && answer.promptTop === undefined)) {
    return yield* failed(`${server} answered without the logprobs of a prompt`)
  }
  const alternatives = alternativesOf(answer.promptTop, prompt.length)
  return { logprobs, alternatives, policy: modelName, policyVersion: version } satisfies Engine.PromptLogprobs
})

const eventsOf = (
  { finishReason, logprobs, policy, policyVersion, tokens }: Engine.TokenCompletion,
  index: number
): ReadonlyArray<Engine.TokenEvent> =>
  Array.from(tokens, (token, t) => ({
    index,
    token,
    logprob: logprobs[t]!,
    policy,
    policyVersion,
    ...(t === tokens.length - 1 && { finishReason })
  }))

/** One per token, 0 for the first; some servers omit that one. */
const promptLogprobsOf = ({ promptLogprobs }: SampleAnswer.Answer, length: number): Float32Array | undefined => {
  if (promptLogprobs === undefined) return undefined
  const missing = length - promptLogprobs.length
  if (missing !== 0 && missing !== 1) return undefined
  const logprobs = new Float32Array(length)
  logprobs.set(promptLogprobs, missing)
  logprobs[0] = 0
  return logprobs
}

/** Servers pad with lower logprobs if there are fewer than k tokens. */
const none = -9999

const alternativesOf = (top: SampleAnswer.Top | undefined, length: number): ReadonlyArray<Engine.Alternatives> =>
  Array.from({ length }, (_, t) => {
    if (top === undefined || t === 0) return { tokens: [], logprobs: [] }
    const start = (t - length + top.tokens.length / top.k) * top.k
    const known = Array.from({ length: top.k }, (_, i) => start + i).filter(
      (at) => top.tokens[at]! >= 0 && top.logprobs[at]! > none
    )
    return { tokens: known.map((at) => top.tokens[at]!), logprobs: known.map((at) => top.logprobs[at]!) }
  })
