/**
 * Leave to begin rollouts, where the run's environments wait at its trainer's bound of staleness: the service gives it,
 * because it alone knows what others have under way.
 *
 * It is asked when it may say yes (its status says so, or fewer are under way here than it was told of), and every five
 * seconds while it has said no. Leave that cannot be used any more is given back. While the service is away there is
 * none.
 */
import { Effect, Latch, Result } from "effect"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

export interface Permits {
  /** A status has come: sequences that may be begun; undefined where nobody waits. */
  readonly told: (startable: number | undefined) => void
  /** A rollout begins. */
  readonly begun: () => void
  /**
   * How many rollouts may begin now: of `usual`, which all else allows, beside `underWay` that have begun and are not
   * queued.
   */
  readonly within: (usual: number, underWay: number) => number
  /** Asks for as long as it runs. */
  readonly run: Effect.Effect<never>
}

/** So that what the service was not told of (an environment that died) does not stop others for good. */
const patience = "5 seconds"

export const make = (options: {
  /** Changes when the service has forgotten what it was told. */
  readonly registered: () => number
  readonly ask: (request: {
    readonly underWay: number
    readonly more: number
  }) => Effect.Effect<number, TrajectoryError>
  /** There is leave now. */
  readonly onGranted: () => void
}): Permits => {
  const wants = Latch.makeUnsafe(false)
  const promising = Latch.makeUnsafe(false)
  let startable: number | undefined
  let statuses = 0
  /** Given and not used. */
  let left = 0
  /** Begun and not queued; may be too high for a moment, never too low. */
  let underWay = 0
  /** Rollouts that all else allows. */
  let usual = 0
  /** What the service was told last, its answer included. */
  let reported = { to: -1, underWay: 0 }

  const more = (): number => Math.max(0, usual - left)
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
        // Whoever follows the status waits for the service and says so.
        yield* Effect.sleep("1 second")
        wants.openUnsafe()
        continue
      }
      const granted = answer.success
      left += granted
      reported = { to, underWay: request.underWay + granted }
      // What could be begun has been given, as far as is known here.
      if (granted < request.more && seen === statuses) startable = startable && 0
      if (more() > 0 || !isKnown()) wants.openUnsafe()
      if (granted > 0) options.onGranted()
    }
  })

  return {
    told: (next) => {
      startable = next
      statuses++
      if (isPromising()) promising.openUnsafe()
    },
    begun: () => {
      if (left === 0) return
      left--
      usual--
      underWay++
    },
    within: (allowed, begun) => {
      if (startable === undefined) {
        left = 0
        return allowed
      }
      left = Math.max(0, Math.min(left, allowed))
      usual = allowed
      underWay = begun
      if (more() > 0 || !isKnown()) wants.openUnsafe()
      if (isPromising()) promising.openUnsafe()
      return left
    },
    run
  }
}
