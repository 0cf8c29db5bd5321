/**
 * Requests permits to start rollouts, if the run's environments wait at the trainer's staleness bound. The service
 * grants them, because only it knows what other environments have in progress.
 *
 * Asks when a grant is possible (according to the status, or if fewer rollouts are in progress than last reported), and
 * every five seconds after a refusal. Returns unusable permits. None are granted while the service is unavailable.
 */
import { Effect, Latch, Result } from "effect"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

export interface Permits {
  /** Handles a status: sequences that may be started; undefined if no environment has to wait. */
  readonly update: (startable: number | undefined) => void
  readonly begun: () => void
  /**
   * Number of rollouts that may start now: at most `limit` (of everything else), given `underWay` started and
   * not yet queued.
   */
  readonly within: (limit: number, underWay: number) => number
  readonly run: Effect.Effect<never>
}

/** Bounds how long rollouts unknown to the service (of an environment that died) block others. */
const patience = "5 seconds"

export const make = (options: {
  /** Changes when the service has lost its state. */
  readonly registered: () => number
  readonly ask: (request: {
    readonly underWay: number
    readonly more: number
  }) => Effect.Effect<number, TrajectoryError>
  readonly onGranted: () => void
}): Permits => {
  const wants = Latch.makeUnsafe(false)
  const promising = Latch.makeUnsafe(false)
  let startable: number | undefined
  let statuses = 0
  /** Granted and unused. */
  let left = 0
  /** Started and not queued; may briefly be too high, never too low. */
  let underWay = 0
  /** Rollouts that all other limits allow. */
  let limit = 0
  /** The last report to the service, including its answer. */
  let reported = { to: -1, underWay: 0 }

  const more = (): number => Math.max(0, limit - left)
  const isKnown = (): boolean => reported.to === options.registered() && reported.underWay === underWay + left
  const isPromising = (): boolean => !isKnown() || (more() > 0 && (startable ?? 0) > 0)

  const run = Effect.gen(function* () {
    for (;;) {
      yield* wants.await
      if (!isPromising()) yield* Effect.timeoutOption(promising.await, patience)
      wants.closeUnsafe()
      promising.closeUnsafe()
      const request = { underWay: underWay + left, more: more() }
      const [to, seen] = [options.registered(), statuses]
      const answer = yield* Effect.result(options.ask(request))
      if (Result.isFailure(answer)) {
        // The status follower waits for the service and logs it.
        yield* Effect.sleep("1 second")
        wants.openUnsafe()
        continue
      }
      const granted = answer.success
      left += granted
      reported = { to, underWay: request.underWay + granted }
      // Everything available has been granted, according to the last status.
      if (granted < request.more && seen === statuses) startable = startable && 0
      if (more() > 0 || !isKnown()) wants.openUnsafe()
      if (granted > 0) options.onGranted()
    }
  })

  return {
    update: (next) => {
      startable = next
      statuses++
      if (isPromising()) promising.openUnsafe()
    },
    begun: () => {
      if (left === 0) return
      left--
      limit--
      underWay++
    },
    within: (allowed, begun) => {
      if (startable === undefined) {
        left = 0
        return allowed
      }
      left = Math.max(0, Math.min(left, allowed))
      limit = allowed
      underWay = begun
      if (more() > 0 || !isKnown()) wants.openUnsafe()
      if (isPromising()) promising.openUnsafe()
      return left
    },
    run
  }
}
