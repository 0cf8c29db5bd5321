/**
 * The generation engine: continuous batching over a paged KV cache in host memory; a GPU receives the pages in use at
 * every step.
 *
 * A request is pinned to the weights it started with; requests that start after a `load` use the newer ones, and old
 * weights are freed with their last request. With `weightUpdates: "in_flight"` running requests switch to the new
 * weights of their policy and keep their KV cache; every token records the weights that sampled it. Interrupting
 * `generate` or ending the stream frees its rows immediately. Model and sampling run in a separate thread. Text and
 * stop strings are handled by the server.
 */
import type { Tokenizer } from "@atropos/core"
import { Cause, Context, Effect, Layer, Queue, Random, type Scope, Stream } from "effect"
import type { DeviceKind } from "../exec/Executor.ts"
import type { DecodeModel } from "./DecodeGraph.ts"
import type { Answer, Command } from "./EngineProtocol.ts"
import { type EngineSettings, defaults } from "./EngineSettings.ts"
import * as Vocabulary from "../grammar/Vocabulary.ts"
import * as EngineThread from "./EngineThread.ts"
import {
  type EngineError,
  EngineFailed,
  fromPlain,
  type EngineStatus,
  type TokenCompletion,
  type GenerateRequest,
  type PromptLogprobs,
  type ScoreRequest,
  type TokenEvent
} from "./EngineRequests.ts"
import * as RequestCheck from "./RequestCheck.ts"

export * from "./EngineRequests.ts"

/** Receives a function that ends a completion of the request, by index. */
export type OnStart = (end: (index: number) => void) => void

export interface Shape {
  readonly generate: (request: GenerateRequest) => Effect.Effect<ReadonlyArray<TokenCompletion>, EngineError>
  /**
   * Tokens as they are sampled, those of the `n` completions interleaved; ends when all have. `onStart` receives a
   * function that ends a completion early: its row is freed immediately, and the others continue. A few of its tokens
   * may still arrive.
   */
  readonly stream: (request: GenerateRequest, onStart?: OnStart) => Stream.Stream<TokenEvent, EngineError>
  readonly score: (request: ScoreRequest) => Effect.Effect<PromptLogprobs, EngineError>
  /**
   * Makes these the newest weights, flat in the model's layout. They are copied before the effect completes. Weights
   * with NaN or infinite logits are rejected, and the name keeps its previous ones.
   */
  readonly load: (policy: string, policyVersion: number, parameters: Float32Array) => Effect.Effect<void, EngineFailed>
  /** Running requests on them continue; new ones fail with `UnknownPolicy`. */
  readonly unload: (policy: string) => Effect.Effect<void>
  readonly status: Effect.Effect<EngineStatus>
  /** Succeeds immediately if the thread has reported anything within a minute, else once it answers. */
  readonly health: Effect.Effect<void, EngineFailed>
}

export class Engine extends Context.Service<Engine, Shape>()("@atropos/trainer/engine/Engine") {}

/** Numbers copied without yielding: a few milliseconds of the caller's event loop. */
const copiedAtOnce = 2 ** 20

export interface EngineOptions {
  readonly model: DecodeModel
  readonly initial: { readonly policy: string; readonly policyVersion: number; readonly parameters: Float32Array }
  readonly device: DeviceKind
  /** The model's tokenizer; required for requests with a schema. */
  readonly tokenizer?: Tokenizer.TokenizerShape
  readonly settings?: Partial<EngineSettings>
}

/** Starts the engine; it ends with the scope. Fails if the thread cannot load the model. */
export const make = Effect.fnUntraced(function* (
  options: EngineOptions
): Effect.fn.Return<Shape, EngineFailed, Scope.Scope> {
  const settings = { ...defaults, ...options.settings }
  const { maxPositions, vocabulary: tokens } = options.model
  const maxSequenceTokens = Math.min(settings.maxSequenceTokens || maxPositions, maxPositions)
  const limits = { vocabulary: tokens, maxSequenceTokens }
  /** The newest weights of each name, the last loaded at the end; a new thread receives them. */
  const newest = new Map<string, EngineThread.Load>()
  const { parameters, ...initial } = options.initial
  newest.set(initial.policy, { ...initial, parameters: yield* shared(parameters) })
  const data: EngineThread.Setup = { model: options.model, device: options.device, settings }
  const thread = yield* EngineThread.make(data, () => [...newest.values()])

  /** Returns one answer of the given type; interruption cancels the request. */
  const ask = <Tag extends Answer["_tag"], E extends EngineError>(
    tag: Tag,
    make: (id: number) => Command
  ): Effect.Effect<Extract<Answer, { readonly _tag: Tag }>, E | EngineFailed> =>
    Effect.callback((resume) => {
      const id = thread.nextId()
      thread.ask(make(id), { onAnswer: (answer) => resume(settle(tag, answer)) })
      return Effect.sync(() => thread.send({ _tag: "Cancel", id }))
    })

  const { tokenizer } = options
  const vocabulary = yield* Effect.cached(tokenizer === undefined ? Effect.undefined : Vocabulary.of(tokenizer))
  /** Restart number of the thread that has the vocabulary. */
  let lastReported = -1
  const tellVocabulary = Effect.gen(function* () {
    const known = yield* vocabulary
    if (known === undefined || lastReported === thread.restarts()) return
    lastReported = thread.restarts()
    thread.send({ _tag: "Vocabulary", vocabulary: known })
  })

  const seeded = Effect.fnUntraced(function* (request: GenerateRequest) {
    yield* RequestCheck.checkGenerate(request, limits)
    if (request.schema !== undefined) yield* tellVocabulary
    return { ...request, seed: request.seed ?? (yield* Random.nextInt) }
  })

  const status = Effect.map(
    ask<"Status", EngineFailed>("Status", (id) => ({ _tag: "Status", id })),
    (answer) => answer.status
  )
  const down: Omit<EngineStatus, "restarts"> = {
    running: 0,
    waiting: 0,
    tokensPerSecond: 0,
    generatedTokens: 0,
    promptTokens: 0,
    cachedPromptTokens: 0,
    guessedTokens: 0,
    acceptedGuesses: 0,
    kvBytes: 0,
    prefixBytes: 0,
    kvLimitBytes: settings.kvMemoryMegabytes * 2 ** 20,
    policies: []
  }

  return Engine.of({
    generate: Effect.fn("Engine.generate")(function* (request) {
      const checked = yield* seeded(request)
      const answer = yield* ask<"Generated", EngineError>("Generated", (id) => ({
        _tag: "Generate",
        id,
        request: checked,
        stream: false
      }))
      return answer.choices
    }),
    stream: (request, onStart) =>
      Stream.callback<TokenEvent, EngineError>((queue) =>
        Effect.gen(function* () {
          const checked = yield* seeded(request)
          const id = thread.nextId()
          yield* Effect.addFinalizer(() => Effect.sync(() => thread.send({ _tag: "Cancel", id })))
          onStart?.((index) => thread.send({ _tag: "End", id, index }))
          thread.ask(
            { _tag: "Generate", id, request: checked, stream: true },
            {
              onToken: ({ event }) => Queue.offerUnsafe(queue, event),
              onAnswer: (answer) => {
                if (answer._tag === "Generated") Queue.endUnsafe(queue)
                else Queue.failCauseUnsafe(queue, Cause.fail(failureOf(answer)))
              }
            }
          )
          return yield* Effect.never
        })
      ),
    score: Effect.fn("Engine.score")(function* (request) {
      yield* RequestCheck.checkScore(request, limits)
      const answer = yield* ask<"Scored", EngineError>("Scored", (id) => ({ _tag: "Score", id, request }))
      return answer.scored
    }),
    load: Effect.fn("Engine.load")(function* (policy, policyVersion, parameters) {
      const { size } = options.model.layout
      if (parameters.length !== size) {
        const message = `policy "${policy}" has ${parameters.length} parameters, the model ${size}`
        return yield* new EngineFailed({ message })
      }
      const load = { policy, policyVersion, parameters: yield* shared(parameters) }
      yield* ask<"Loaded", EngineFailed>("Loaded", (id) => ({ ...load, _tag: "Load", id, isTried: true }))
      newest.delete(policy)
      newest.set(policy, load)
    }),
    unload: (policy) =>
      Effect.sync(() => {
        newest.delete(policy)
        thread.send({ _tag: "Unload", policy })
      }),
    status: Effect.map(
      Effect.orElseSucceed(status, () => down),
      (status) => ({ ...status, restarts: thread.restarts() })
    ),
    health: Effect.suspend(() => (thread.isHeard() ? Effect.void : Effect.asVoid(status)))
  })
})

export const layer = (options: EngineOptions): Layer.Layer<Engine, EngineFailed> => Layer.effect(Engine, make(options))

/**
 * Copies into memory shared by both threads, without blocking the caller's event loop; the caller may change the
 * original afterwards.
 */
const shared = Effect.fnUntraced(function* (numbers: Float32Array) {
  const copy = new Float32Array(new SharedArrayBuffer(numbers.byteLength))
  for (let at = 0; at < numbers.length; at += copiedAtOnce) {
    copy.set(numbers.subarray(at, at + copiedAtOnce), at)
    if (at + copiedAtOnce < numbers.length) yield* Effect.yieldNow
  }
  return copy
})

const failureOf = (answer: Answer | EngineFailed): EngineError => {
  if (answer._tag === "EngineFailed") return answer
  if (answer._tag === "Failed") return fromPlain(answer.error)
  return new EngineFailed({ message: `unexpected answer of the engine: ${answer._tag}` })
}

const settle = <Tag extends Answer["_tag"], E>(
  tag: Tag,
  answer: Answer | EngineFailed
): Effect.Effect<Extract<Answer, { readonly _tag: Tag }>, E | EngineFailed> =>
  // The tag was just compared, and a command only receives its own error types.
  answer._tag === tag
    ? Effect.succeed(answer as Extract<Answer, { readonly _tag: Tag }>)
    : Effect.fail(failureOf(answer) as E | EngineFailed)
