/**
 * Waiting times between attempts: doubled each time, capped, jittered; never shorter than what the other side asked
 * for.
 */
import { Effect, Random } from "effect"

/**
 * Whole milliseconds to wait before attempt `attempt` + 1 (counted from 1): up to half a second, one, two, … at most
 * `cap`.
 */
export const backoffMillis = (
  attempt: number,
  { atLeast = 0, cap = 30_000 }: { readonly atLeast?: number; readonly cap?: number } = {}
): Effect.Effect<number> =>
  Effect.map(Random.nextBetween(0.5, 1), (jitter) =>
    Math.ceil(Math.max(atLeast, jitter * Math.min(cap, 1000 * 2 ** Math.min(attempt - 1, 20))))
  )
