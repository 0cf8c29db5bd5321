/**
 * Presents a pool as one backend: requests are split by `n` (`Choices`), sent to servers that support them, and
 * retried on failure (`Attempts`).
 */
import { Clock, Effect } from "effect"
import {
  type ChatRequest,
  InferenceError,
  type DeltaHandler,
  type SamplingOptions,
  type Served,
  type Split
} from "./wire/Inference.ts"
import type { Answer, Backend, IdsRequest } from "./backend/Backend.ts"
import * as Attempts from "./Attempts.ts"
import * as Choices from "./Choices.ts"
import type { ServerPool } from "./ServerPool.ts"
import type { InferenceServer } from "./InferenceServer.ts"

export interface Options {
  readonly maxNCompletions: number
  /** Attempts per request; each server beyond the first adds one. */
  readonly maxAttempts: number
}

const anyone = (): boolean => true
const givesTokens = ({ backend }: InferenceServer): boolean => backend.capabilities.tokens
const givesPromptLogprobs = ({ backend }: InferenceServer): boolean => backend.capabilities.promptLogprobs

const isKnown = ({ backend }: InferenceServer): boolean =>
  backend.identify === undefined || backend.identity !== undefined

/** Wraps a listener to record if it was called. */
const handlerOf = <A>(given: DeltaHandler<A> | undefined) => {
  let hasHeard = false
  const listener: DeltaHandler<A> | undefined =
    given &&
    ((said) => {
      hasHeard = true
      given(said)
    })
  return { listener, isHeard: () => hasHeard }
}

/** The choices of one attempt with its times. */
const served = <A, E>(
  asking: Effect.Effect<A, E>,
  each: (answer: A, timed: <C extends object>(choice: C) => C & { readonly served: Served }) => A
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const sent = yield* Clock.currentTimeMillis
    const answer = yield* asking
    const times = { sent, answered: yield* Clock.currentTimeMillis }
    return each(answer, (choice) => ({ ...choice, served: times }))
  })

/** The pool as one backend; `prefer` is used while it is healthy. */
export const backend = (
  pool: ServerPool,
  { maxAttempts, maxNCompletions }: Options,
  prefer?: InferenceServer
): Backend & { readonly identify: Effect.Effect<unknown, InferenceError> } => {
  const named = prefer === undefined ? pool.servers : [prefer]
  const answerTo = Attempts.over(pool, { maxAttempts, prefer })

  /** Capabilities are known once one server has been identified. */
  const identified = (split: Split) =>
    Effect.suspend(() =>
      pool.servers.some(isKnown)
        ? Effect.void
        : answerTo<unknown>({
            split,
            isEligible: anyone,
            what: "anything",
            ask: ({ backend }) => backend.identify ?? Effect.void,
            tokens: () => 0
          })
    )

  const choices = <R extends SamplingOptions, A>(
    request: R,
    question: (part: R & { readonly n: number }) => Attempts.Question<A>,
    count: (answer: A) => number
  ) =>
    Effect.suspend(() => {
      const most = pool.servers.some(({ ignoresN }) => ignoresN) ? 1 : maxNCompletions
      return Choices.ask(answerTo, most, request, question, count)
    })

  const text = <R extends SamplingOptions & Pick<ChatRequest, "onDelta">>(
    given: R,
    ask: (server: InferenceServer, request: R) => Effect.Effect<Answer, InferenceError>
  ) => {
    const { isHeard, listener } = handlerOf(given.onDelta)
    const request = listener === undefined ? given : { ...given, onDelta: listener }
    return Effect.map(
      choices(
        request,
        (part) => ({
          split: request.split ?? "train",
          isEligible: anyone,
          isHeard,
          what: "completions",
          ask: (server) =>
            Choices.noticeIgnoredN(
              server,
              part.n,
              served(ask(server, part), (answer, times) => ({ ...answer, choices: answer.choices.map(times) })),
              ({ choices }) => choices.length
            ),
          tokens: ({ usage }) => usage?.completionTokens ?? 0
        }),
        ({ choices }) => choices.length
      ),
      Choices.merged
    )
  }

  const tokens = (given: IdsRequest) => {
    const { isHeard, listener } = handlerOf(given.onTokens)
    const request = listener === undefined ? given : { ...given, onTokens: listener }
    return Effect.map(
      choices(
        request,
        (part) => ({
          split: request.split ?? "train",
          isEligible: givesTokens,
          isHeard,
          what: "token-level completions",
          ask: (server) =>
            Choices.noticeIgnoredN(
              server,
              part.n,
              served(server.backend.tokens(part), (all, times) => all.map(times)),
              ({ length }) => length
            ),
          tokens: (choices) => choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
        }),
        ({ length }) => length
      ),
      (answers) => answers.flat()
    ).pipe((asking) => Effect.andThen(identified(request.split ?? "train"), asking))
  }

  return {
    server: named.map(({ backend }) => backend.server).join(", "),
    modelName: named[0]?.backend.modelName ?? "default",
    get capabilities() {
      return { tokens: named.some(givesTokens), promptLogprobs: named.some(givesPromptLogprobs) }
    },
    get contextLength() {
      const lengths = named.flatMap(({ backend: { contextLength } }) => contextLength ?? [])
      return lengths.length === 0 ? undefined : Math.min(...lengths)
    },
    identify: identified("train"),
    chat: (request) => text(request, (server, part) => server.backend.chat(part)),
    complete: (request) => text(request, (server, part) => server.backend.complete(part)),
    tokens,
    promptLogprobs: (request) =>
      answerTo({
        split: request.split ?? "train",
        isEligible: givesPromptLogprobs,
        what: "prompt logprobs",
        ask: (server) => server.backend.promptLogprobs(request),
        tokens: () => 0
      }).pipe((asking) => Effect.andThen(identified(request.split ?? "train"), asking)),
    health: Effect.suspend(() => {
      const sick = named.find(({ isUp }) => !isUp)
      return sick === undefined || named.some(({ isUp }) => isUp)
        ? Effect.void
        : Effect.fail(
            sick.lastError ??
              new InferenceError({ reason: "noServer", server: sick.backend.server, message: "no server is healthy" })
          )
    })
  }
}
