/**
 * Adapts the number of concurrent requests to a server to its engine's own load, by additive increase and
 * multiplicative decrease, so that programs that share a server converge to equal shares.
 *
 * Begins at the max. An engine is congested if it preempted requests since the last reading (their KV cache is computed
 * again), or if its KV cache is full while requests wait. Then the limit falls to 3/4 of the requests in flight, once
 * they are no more than the last limit. It rises by 1/64 of the max while it is used, nothing waits in the engine and
 * its KV cache has space.
 */
import type { Load } from "./backend/Backend.ts"

export interface State {
  readonly limit: number
  /** At the last reading; undefined before the first one. */
  readonly preemptions: number | undefined
}

interface Bounds {
  readonly min: number
  readonly max: number
}

const full = 0.95
const spacious = 0.9
const decrease = 0.75
const steps = 64

const within = (limit: number, { max, min }: Bounds): number => Math.min(max, Math.max(Math.min(min, max), limit))

/** The state after a reading, with `inFlight` requests under way. */
export const next = (state: State, load: Load, inFlight: number, bounds: Bounds): State => {
  const { kvUsage, preemptions, waiting } = load
  const limit = within(state.limit, bounds)
  // A counter below the last one is of a restarted server.
  const hasPreempted = state.preemptions !== undefined && preemptions > state.preemptions
  if (hasPreempted || (waiting > 0 && kvUsage >= full)) {
    const isDraining = inFlight > limit
    return { limit: isDraining ? limit : within(Math.floor(inFlight * decrease), bounds), preemptions }
  }
  const isUsed = inFlight >= limit
  const rises = isUsed && waiting === 0 && kvUsage < spacious
  return { limit: rises ? within(limit + Math.ceil(bounds.max / steps), bounds) : limit, preemptions }
}
