/** Retries requests to the trajectory service while it is unreachable, and logs the wait. */
import { TrajectoryError } from "@atropos/core"
import * as Waiting from "@atropos/core/base/Waiting"
import { Effect, Ref } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"

const refused = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "service", message: `the trajectory service: ${cause.message}`, cause })

/** Retry state for consecutive requests to the service. */
export interface Patience {
  /** Retries a request until the service answers; fails if the service rejects it. */
  readonly request: <A>(request: Effect.Effect<A, TrajectoryError.TrajectoryError>) => Effect.Effect<A, TrainerError>
  /**
   * Logs at growing intervals while such an effect runs: the reason while the service is unreachable, otherwise (a slow
   * service) `onSilence`. The first time is after `first` milliseconds.
   */
  readonly logged: (
    onSilence: (seconds: number) => Effect.Effect<void>,
    first?: number
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make: Effect.Effect<Patience> = Effect.gen(function* () {
  /** Why the last request got no answer; empty if it was answered. */
  const away = yield* Ref.make("")
  return {
    request: (request) =>
      request.pipe(
        Effect.tap(() => Ref.set(away, "")),
        Effect.tapError(({ message }) => Ref.set(away, message)),
        Effect.retry(TrajectoryError.reconnecting),
        Effect.mapError(refused)
      ),
    logged: (onSilence, first) =>
      Waiting.telling(
        (seconds) =>
          Effect.flatMap(Ref.get(away), (reason) =>
            reason === ""
              ? onSilence(seconds)
              : Effect.logWarning("waiting for the trajectory service; start one: npx @atropos/cli api", {
                  seconds,
                  reason
                })
          ),
        first
      )
  }
})

export const untilAnswered = <A>(
  request: Effect.Effect<A, TrajectoryError.TrajectoryError>
): Effect.Effect<A, TrainerError> =>
  Effect.flatMap(make, (patience) =>
    patience.logged((seconds) => Effect.logWarning("waiting for the trajectory service to answer", { seconds }))(
      patience.request(request)
    )
  )
