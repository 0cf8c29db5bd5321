/** Pauses between attempts: growing up to a limit, and jittered, so that clients do not retry simultaneously. */
import { type Duration, Effect, Random, Schedule } from "effect"

/**
 * Whole milliseconds before attempt `attempt` + 1 (counted from 1): half to all of one second, two, four, … `cap`, and
 * never less than `atLeast`.
 */
export const backoffMillis = (
  attempt: number,
  { atLeast = 0, cap = 30_000 }: { readonly atLeast?: number; readonly cap?: number } = {}
): Effect.Effect<number> =>
  Effect.map(Random.nextBetween(0.5, 1), (jitter) =>
    Math.ceil(Math.max(atLeast, jitter * Math.min(cap, 1000 * 2 ** Math.min(attempt - 1, 20))))
  )

/** Pauses that double from `first` up to `longest`, forever. */
export const growing = (first: Duration.Input, longest: Duration.Input) =>
  Schedule.min([Schedule.exponential(first), Schedule.spaced(longest)])

/** Reconnects to an unavailable service: quickly at first, then every five seconds. */
export const reconnecting = Schedule.jittered(growing("200 millis", "5 seconds"))
