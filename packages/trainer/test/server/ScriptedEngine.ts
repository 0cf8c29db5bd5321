/**
 * An engine that says what a script says, token by token over the byte tokenizer: rows, queue, weights and counts are
 * kept as the contract of `Engine` has it, so that what stands on an engine can be tested without a model.
 *
 * The logprob of the token at position t of a completion is `logprobAt(t)`, exact in float32; alternatives are the
 * neighbouring ids.
 */
import { Effect, Latch, Layer, Queue, Stream } from "effect"
import { Tokenizer } from "@atropos/core"
import * as Engine from "../../src/engine/Engine.ts"

export interface Weights {
  readonly policy: string
  readonly policyVersion: number
  readonly parameters: Float32Array
}

export interface Options {
  readonly maxRows?: number
  readonly maxWaiting?: number
  readonly maxSequenceTokens?: number
  /** What a request without room is told to wait. */
  readonly retryAfterMillis?: number
  /** Tokens that come at once. Default 1. */
  readonly bunch?: number
}

/** What choice `index` says; the end-of-sequence token follows by itself. */
export type Script = (
  request: Engine.GenerateRequest,
  index: number,
  weights: Weights
) => string | ReadonlyArray<number>

export const logprobAt = (position: number): number => -((position % 8) + 1) / 8

const { bytes } = Tokenizer
const alternativesOf = (token: number, position: number, count: number): Engine.Alternatives => ({
  tokens: Array.from({ length: count }, (_, i) => (token + i) % bytes.vocabularySize),
  logprobs: Array.from({ length: count }, (_, i) => logprobAt(position) - i)
})

export interface Scripted {
  readonly engine: Engine.Shape
  /** While closed, no token but the first of each completion is sampled. */
  readonly gate: Latch.Latch
  readonly asked: ReadonlyArray<Engine.GenerateRequest>
  readonly running: () => number
  /** Weights that `load` was given, in order. */
  readonly loaded: ReadonlyArray<Weights>
  /** Makes the next calls of `load` fail. */
  readonly failLoads: (count: number) => void
  readonly layer: Layer.Layer<Engine.Engine | Tokenizer.Tokenizer>
}

export const make = (
  script: Script,
  { bunch = 1, maxRows = 64, maxSequenceTokens = 4096, maxWaiting = 64, retryAfterMillis = 1500 }: Options = {}
): Effect.Effect<Scripted> =>
  Effect.gen(function* () {
    const gate = yield* Latch.make(true)
    const asked: Array<Engine.GenerateRequest> = []
    const loaded: Array<Weights> = []
    const held = new Map<string, Weights>([
      ["base", { policy: "base", policyVersion: 0, parameters: new Float32Array(0) }]
    ])
    let newest = "base"
    let rows = 0
    let waiting = 0
    let failures = 0
    let generatedTokens = 0
    let promptTokens = 0
    const freed = yield* Queue.unbounded<void>()

    const check = Effect.fnUntraced(function* (request: Engine.GenerateRequest | Engine.ScoreRequest) {
      const { policy = newest, promptTokens: prompt } = request
      const weights = held.get(policy)
      if (weights === undefined) return yield* new Engine.UnknownPolicy({ policy, loaded: [...held.keys()] })
      if (prompt.length === 0 || prompt.some((id) => id >= bytes.vocabularySize)) {
        return yield* new Engine.InvalidRequest({
          field: "promptTokens",
          message: "a prompt of known tokens is needed"
        })
      }
      const maxTokens = "maxTokens" in request ? request.maxTokens : 0
      if (prompt.length + maxTokens > maxSequenceTokens) {
        return yield* new Engine.PromptTooLong({
          promptTokens: prompt.length,
          maxTokens,
          limitTokens: maxSequenceTokens
        })
      }
      return weights
    })

    const hasRoom = (n: number) => rows + n <= maxRows
    const takeRows = (n: number) =>
      Effect.gen(function* () {
        if (!hasRoom(n) && waiting + n > maxWaiting) {
          return yield* new Engine.EngineOverloaded({ waiting, retryAfterMillis })
        }
        waiting += n
        yield* Effect.ensuring(
          Effect.gen(function* () {
            while (!hasRoom(n)) yield* Queue.take(freed)
            rows += n
          }),
          Effect.sync(() => {
            waiting -= n
          })
        )
      })

    const tokensOf = (request: Engine.GenerateRequest, index: number, weights: Weights) => {
      const said = script(request, index, weights)
      const ids = typeof said === "string" ? bytes.encode(said, { addSpecialTokens: false }) : said
      const whole = [...ids, 258]
      const end = whole.findIndex((id) => request.stopTokenIds.includes(id))
      const all =
        end === -1 ? [...whole, ...Array.from({ length: request.maxTokens }, () => 120)] : whole.slice(0, end + 1)
      const isCut = end === -1 || all.length > request.maxTokens
      return { tokens: all.slice(0, request.maxTokens), finishReason: isCut ? ("length" as const) : ("stop" as const) }
    }

    const stream: Engine.Shape["stream"] = (request) =>
      Stream.unwrap(
        Effect.gen(function* () {
          asked.push(request)
          const weights = yield* check(request)
          const { policy, policyVersion } = weights
          yield* Effect.acquireRelease(takeRows(request.n), () =>
            Effect.sync(() => {
              rows -= request.n
              Queue.offerUnsafe(freed, undefined)
            })
          )
          promptTokens += request.promptTokens.length
          const all = Array.from({ length: request.n }, (_, index) => tokensOf(request, index, weights))
          const longest = Math.max(...all.map(({ tokens }) => tokens.length))
          const events: Array<Engine.TokenEvent & { readonly position: number }> = []
          for (let position = 0; position < longest; position++) {
            for (const [index, { finishReason, tokens }] of all.entries()) {
              const token = tokens[position]
              if (token === undefined) continue
              events.push({
                index,
                position,
                token,
                logprob: logprobAt(position),
                policy,
                policyVersion,
                ...(request.topLogprobs !== undefined && {
                  alternatives: alternativesOf(token, position, request.topLogprobs)
                }),
                ...(position === tokens.length - 1 && { finishReason })
              })
            }
          }
          // Some tokens come alone, some in bunches, as from an engine that is faster than its client.
          return Stream.fromIterable(events).pipe(
            Stream.mapEffect(({ position, ...event }) =>
              Effect.as(Effect.andThen(Effect.yieldNow, position === 0 ? Effect.void : gate.await), event)
            ),
            Stream.rechunk(bunch),
            Stream.tap(() =>
              Effect.sync(() => {
                generatedTokens++
              })
            )
          )
        })
      )

    const generate: Engine.Shape["generate"] = (request) =>
      Effect.map(Stream.runCollect(stream(request)), (events) =>
        Array.from({ length: request.n }, (_, index): Engine.TokenCompletion => {
          const own = events.filter((event) => event.index === index)
          const last = own.at(-1)!
          return {
            tokens: Int32Array.from(own, ({ token }) => token),
            logprobs: Float32Array.from(own, ({ logprob }) => logprob),
            finishReason: last.finishReason!,
            policy: last.policy,
            policyVersion: last.policyVersion,
            ...(request.topLogprobs !== undefined && { alternatives: own.map(({ alternatives }) => alternatives!) })
          }
        })
      )

    const engine: Engine.Shape = {
      stream,
      generate,
      score: Effect.fnUntraced(function* (request) {
        const { policy, policyVersion } = yield* check(request)
        return {
          logprobs: Float32Array.from(request.promptTokens, (_, t) => (t === 0 ? 0 : logprobAt(t))),
          alternatives: request.promptTokens.map((token, t) =>
            t === 0 ? { tokens: [], logprobs: [] } : alternativesOf(token, t, request.topLogprobs ?? 0)
          ),
          policy,
          policyVersion
        }
      }),
      load: (policy, policyVersion, parameters) =>
        Effect.suspend(() => {
          if (failures > 0) {
            failures--
            return Effect.fail(new Engine.EngineFailed({ message: "the thread is gone" }))
          }
          const weights = { policy, policyVersion, parameters: parameters.slice() }
          held.set(policy, weights)
          loaded.push(weights)
          newest = policy
          return Effect.void
        }),
      unload: (policy) =>
        Effect.sync(() => {
          held.delete(policy)
          if (newest === policy) newest = [...held.keys()].at(-1) ?? "base"
        }),
      status: Effect.sync(() => ({
        running: rows,
        waiting,
        tokensPerSecond: 0,
        generatedTokens,
        promptTokens,
        cachedPromptTokens: 0,
        guessedTokens: 0,
        acceptedGuesses: 0,
        kvBytes: rows * 1024,
        prefixBytes: 0,
        kvLimitBytes: maxRows * 1024,
        policies: [...held.values()].map(({ policy, policyVersion }) => ({ policy, policyVersion, running: 0 })),
        restarts: 0
      })),
      health: Effect.void
    }
    return {
      engine,
      gate,
      asked,
      running: () => rows,
      loaded,
      failLoads: (count) => {
        failures = count
      },
      layer: Layer.mergeAll(Layer.succeed(Engine.Engine, engine), Tokenizer.layerBytes)
    }
  })
