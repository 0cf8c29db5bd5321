/**
 * Sends one request to a pool: to the healthy server with the most capacity, timed, with retries, on another server if
 * possible.
 *
 * The only module that retries. Retried: failed connections, timeouts, 5xx, 408, 429, and (twice) malformed answers.
 * Never retried: any other 4xx, and unsupported requests. The next attempt goes to another healthy server immediately;
 * without one it waits with exponential backoff and jitter, at most 10 s, or for the server's Retry-After.
 *
 * A 503 is no failed attempt (vLLM 0.33 while paused for new weights, or with a full queue): it is retried for as long
 * as requests wait for a server that is down (`serverWait`).
 */
import { Cause, Clock, Duration, Effect, Exit, Option, Random, Schedule } from "effect"
import { unsupported } from "./backend/Backend.ts"
import { InferenceError, type Split } from "./wire/Inference.ts"
import type { ServerPool, Outcome } from "./ServerPool.ts"
import type { InferenceServer } from "./InferenceServer.ts"
import type { Want } from "./ConcurrencyLimiter.ts"

export interface Question<A> {
  readonly split: Split
  readonly isEligible: (server: InferenceServer) => boolean
  /** Description of the request, for the error if no server supports it. */
  readonly what: string
  readonly ask: (server: InferenceServer) => Effect.Effect<A, InferenceError>
  /** True if a part of the answer has been streamed, which cannot be undone: the request is then not retried. */
  readonly isHeard?: () => boolean
  readonly tokens: (answer: A) => number
}

/** Retries until there is an answer or a permanent failure. */
export type AnswerTo = <A>(question: Question<A>) => Effect.Effect<A, InferenceError>

export interface Options {
  /** Attempts per request; each server beyond the first adds one. */
  readonly maxAttempts: number
  readonly prefer: InferenceServer | undefined
}

/** A longer Retry-After is not waited for. */
const maxRetryAfterMillis = 300_000
const firstDelayMillis = 250
const maxDelayMillis = 10_000
const malformedRetries = 2

const isRetryable = ({ reason }: InferenceError): boolean =>
  reason === "unreachable" ||
  reason === "timeout" ||
  reason === "overloaded" ||
  reason === "failed" ||
  reason === "malformed"

interface Attempts {
  count: number
  /** Failures other than 503. */
  failures: number
  /** Start of the 503s since the last other failure. */
  unavailableSince: number | undefined
  rounds: number
  readonly failed: Set<InferenceServer>
}

export const over =
  (pool: ServerPool, { maxAttempts, prefer }: Options): AnswerTo =>
  (question) =>
    Effect.suspend(() => {
      const { isEligible, split, what } = question
      if (!pool.servers.some(isEligible)) return cannot(pool, what)
      const state: Attempts = { count: 0, failures: 0, unavailableSince: undefined, rounds: 0, failed: new Set() }
      const maxFailures = maxAttempts + pool.servers.length - 1
      const want: Want = { split, isEligible, prefer, avoid: state.failed }
      let malformed = 0
      return attempt(pool, question, want, state).pipe(
        Effect.retry({
          while: (error) => {
            if (
              question.isHeard?.() ||
              !isRetryable(error) ||
              (error.reason === "malformed" && ++malformed > malformedRetries)
            )
              return Effect.succeed(false)
            if ((error.retryAfterMillis ?? 0) > maxRetryAfterMillis && !pool.hasAlternative(want))
              return Effect.succeed(false)
            return isWorthAnother(error, state, maxFailures, pool.serverWait)
          },
          schedule: Schedule.modifyDelay(Schedule.forever, () =>
            Effect.suspend(() => {
              // If no server is healthy, `take` waits.
              if (pool.hasAlternative(want) || !pool.servers.some(({ isUp }) => isUp))
                return Effect.succeed(Duration.zero)
              // All servers were tried: the next round starts after a backoff.
              state.failed.clear()
              return backoff(state.rounds++)
            })
          )
        }),
        Effect.mapError((error) => (state.count > 1 ? afterAttempts(error, state.count) : error))
      )
    })

/** Limits failures by number, and 503s by time. */
const isWorthAnother = (
  { status }: InferenceError,
  state: Attempts,
  maxFailures: number,
  serverWait: Duration.Duration
): Effect.Effect<boolean> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    if (status !== 503) {
      state.unavailableSince = undefined
      return ++state.failures < maxFailures
    }
    state.unavailableSince ??= now
    return now - state.unavailableSince < Duration.toMillis(serverWait)
  })

const attempt = <A>(
  pool: ServerPool,
  question: Question<A>,
  want: Want,
  state: Attempts
): Effect.Effect<A, InferenceError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const server = yield* Effect.withSpan(pool.take(want, restore), "Inference.wait")
      const startedAt = yield* Clock.currentTimeMillis
      const isRetry = state.count++ > 0
      return yield* restore(withinTime(question.ask(server), server)).pipe(
        Effect.tap((answer) => Effect.annotateCurrentSpan("inference.tokens", question.tokens(answer))),
        Effect.withSpan("Inference.request", {
          attributes: { "inference.server": server.backend.server, "inference.attempt": state.count }
        }),
        Effect.onExit((exit) => {
          const outcome = outcomeOf(exit, question.tokens)
          // Interrupted: no outcome to record.
          if (outcome === undefined) return Effect.void
          if (outcome.error !== undefined) state.failed.add(server)
          return pool.learn(server, want.split, { startedAt, isRetry, ...outcome })
        }),
        Effect.ensuring(pool.release(server, want.split))
      )
    })
  )

/** 250 ms, 500 ms, 1 s, … at most 10 s, ±20%. */
const backoff = (round: number): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.nextBetween(0.8, 1.2), (jitter) =>
    Duration.millis(Math.min(maxDelayMillis, firstDelayMillis * 2 ** round * jitter))
  )

const withinTime = <A>(asking: Effect.Effect<A, InferenceError>, { backend, timeout }: InferenceServer) =>
  Duration.isFinite(timeout)
    ? Effect.timeoutOrElse(asking, {
        duration: timeout,
        orElse: () =>
          Effect.fail(
            new InferenceError({
              reason: "timeout",
              server: backend.server,
              message: `${backend.server} did not answer within ${Duration.toSeconds(timeout)} s (setting: timeout)`
            })
          )
      })
    : asking

const outcomeOf = <A>(exit: Exit.Exit<A, InferenceError>, tokens: (answer: A) => number): Outcome | undefined =>
  Exit.isSuccess(exit)
    ? { tokens: tokens(exit.value) }
    : Option.match(Cause.findErrorOption(exit.cause), {
        onNone: () => undefined,
        onSome: (error) => ({ tokens: 0, error })
      })

const afterAttempts = (error: InferenceError, attempts: number): InferenceError =>
  new InferenceError({
    reason: error.reason,
    server: error.server,
    message: `${error.message} (after ${attempts} attempts)`,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis }),
    cause: error
  })

const cannot = (pool: ServerPool, what: string): Effect.Effect<never, InferenceError> =>
  unsupported(
    pool.servers.map(({ backend }) => backend.server).join(", "),
    what,
    "vLLM and atropos policy support token-level completions and prompt logprobs, SGLang token-level completions"
  )
