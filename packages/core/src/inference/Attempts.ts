/**
 * One request over a fleet: sent to the roomiest healthy server, timed, tried again, elsewhere where possible.
 *
 * This is the one place that retries. Tried again: connections that fail, timeouts, 5xx, 408, 429, and (twice) answers
 * that make no sense. Never tried again: any other 4xx and what a server cannot do. The next attempt goes to another
 * healthy server at once; where there is none it waits, exponentially longer with jitter, at most 10 s, or as long as
 * the server's Retry-After says.
 *
 * A 503 is no failed attempt: the server is there and answers later (vLLM 0.33 while it is paused for new weights, or
 * its queue is full). It is asked again for as long as a server that is down is waited for (`serverWait`).
 */
import { Cause, Clock, Duration, Effect, Exit, Option, Random, Schedule } from "effect"
import { unsupported } from "./backend/Backend.ts"
import { InferenceError, type Split } from "./backend/Inference.ts"
import type { Fleet, Outcome } from "./Fleet.ts"
import type { Member } from "./Member.ts"
import type { Want } from "./Slots.ts"

/** One request, whoever answers it. */
export interface Question<A> {
  readonly split: Split
  readonly isEligible: (member: Member) => boolean
  /** What it asks for, in words, for when no server can do it. */
  readonly what: string
  readonly ask: (member: Member) => Effect.Effect<A, InferenceError>
  /** Whether somebody has heard a part of an answer, which cannot be taken back: then nothing is tried again. */
  readonly isHeard?: () => boolean
  /** Tokens an answer cost the server to generate. */
  readonly tokens: (answer: A) => number
}

/** Asks until there is an answer, or none is to be hoped for. */
export type AnswerTo = <A>(question: Question<A>) => Effect.Effect<A, InferenceError>

export interface Options {
  /** Attempts at one request; each server beyond the first adds one. */
  readonly maxAttempts: number
  /** The server to stay with while it is healthy. */
  readonly prefer: Member | undefined
}

/** A server that wants to be left alone for longer than this is not waited for. */
const longestRetryAfterMillis = 300_000
const firstDelayMillis = 250
const longestDelayMillis = 10_000
const malformedRetries = 2

const isRetryable = ({ reason }: InferenceError): boolean =>
  reason === "unreachable" ||
  reason === "timeout" ||
  reason === "overloaded" ||
  reason === "failed" ||
  reason === "malformed"

interface Attempts {
  count: number
  /** Those that failed otherwise than with a 503. */
  failures: number
  /** When the 503s began that came since the last other failure. */
  unavailableSince: number | undefined
  /** Times every server was tried in vain. */
  rounds: number
  /** Servers that failed in this round. */
  readonly failed: Set<Member>
}

export const over =
  (fleet: Fleet, { maxAttempts, prefer }: Options): AnswerTo =>
  (question) =>
    Effect.suspend(() => {
      const { isEligible, split, what } = question
      if (!fleet.members.some(isEligible)) return cannot(fleet, what)
      const state: Attempts = { count: 0, failures: 0, unavailableSince: undefined, rounds: 0, failed: new Set() }
      const maxFailures = maxAttempts + fleet.members.length - 1
      const want: Want = { split, isEligible, prefer, avoid: state.failed }
      let malformed = 0
      return attempt(fleet, question, want, state).pipe(
        Effect.retry({
          while: (error) => {
            if (
              question.isHeard?.() ||
              !isRetryable(error) ||
              (error.reason === "malformed" && ++malformed > malformedRetries)
            )
              return Effect.succeed(false)
            if ((error.retryAfterMillis ?? 0) > longestRetryAfterMillis && !fleet.hasAlternative(want))
              return Effect.succeed(false)
            return isWorthAnother(error, state, maxFailures, fleet.serverWait)
          },
          schedule: Schedule.modifyDelay(Schedule.forever, () =>
            Effect.suspend(() => {
              // While nobody is healthy `take` waits, and knows for whom.
              if (fleet.hasAlternative(want) || !fleet.members.some(({ isUp }) => isUp))
                return Effect.succeed(Duration.zero)
              // Everyone was tried: the next round begins, after a while.
              state.failed.clear()
              return backoff(state.rounds++)
            })
          )
        }),
        Effect.mapError((error) => (state.count > 1 ? afterAttempts(error, state.count) : error))
      )
    })

/** Failures are limited by their number, 503s by time. */
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
  fleet: Fleet,
  question: Question<A>,
  want: Want,
  state: Attempts
): Effect.Effect<A, InferenceError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const member = yield* Effect.withSpan(fleet.take(want, restore), "Inference.wait")
      const startedAt = yield* Clock.currentTimeMillis
      const isRetry = state.count++ > 0
      return yield* restore(withinTime(question.ask(member), member)).pipe(
        Effect.tap((answer) => Effect.annotateCurrentSpan("inference.tokens", question.tokens(answer))),
        Effect.withSpan("Inference.request", {
          attributes: { "inference.server": member.backend.server, "inference.attempt": state.count }
        }),
        Effect.onExit((exit) => {
          const outcome = outcomeOf(exit, question.tokens)
          // Interrupted: nothing was learnt.
          if (outcome === undefined) return Effect.void
          if (outcome.error !== undefined) state.failed.add(member)
          return fleet.learn(member, want.split, { startedAt, isRetry, ...outcome })
        }),
        Effect.ensuring(fleet.release(member, want.split))
      )
    })
  )

/** 250 ms, 500 ms, 1 s, … at most 10 s, give or take a fifth. */
const backoff = (round: number): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.nextBetween(0.8, 1.2), (jitter) =>
    Duration.millis(Math.min(longestDelayMillis, firstDelayMillis * 2 ** round * jitter))
  )

const withinTime = <A>(asking: Effect.Effect<A, InferenceError>, { backend, timeout }: Member) =>
  Duration.isFinite(timeout)
    ? Effect.timeoutOrElse(asking, {
        duration: timeout,
        orElse: () =>
          Effect.fail(
            new InferenceError({
              reason: "timeout",
              server: backend.server,
              message: `${backend.server} gave no answer within ${Duration.toSeconds(timeout)} s (setting: timeout)`
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

const cannot = (fleet: Fleet, what: string): Effect.Effect<never, InferenceError> =>
  unsupported(
    fleet.members.map(({ backend }) => backend.server).join(", "),
    what,
    "vLLM and atropos policy give token-level completions and prompt logprobs, SGLang token-level completions"
  )
