/**
 * Requests to the trajectory service that outlast its absence: made again while it cannot be reached, and not in
 * silence.
 */
import { TrajectoryError } from "@atropos/core"
import * as Waiting from "@atropos/core/base/Waiting"
import { Effect, Ref } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"

const refused = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "service", message: `the trajectory service: ${cause.message}`, cause })

/** Someone who waits for the service, with one request after the other. */
export interface Patience {
  /** Makes a request until the service answers; fails where it refuses. */
  readonly request: <A>(request: Effect.Effect<A, TrajectoryError.TrajectoryError>) => Effect.Effect<A, TrainerError>
  /**
   * Logs while an effect with such requests runs, ever more sparsely: that the service is away and why; or, where it is
   * there and takes its time, what `onSilence` logs.
   */
  readonly logged: (
    onSilence: (seconds: number) => Effect.Effect<void>
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make: Effect.Effect<Patience> = Effect.gen(function* () {
  /** Why the service did not answer the last time it was asked; empty where it did. */
  const away = yield* Ref.make("")
  return {
    request: (request) =>
      request.pipe(
        Effect.tap(() => Ref.set(away, "")),
        Effect.tapError(({ message }) => Ref.set(away, message)),
        Effect.retry(TrajectoryError.reconnecting),
        Effect.mapError(refused)
      ),
    logged: (onSilence) =>
      Waiting.telling((seconds) =>
        Effect.flatMap(Ref.get(away), (reason) =>
          reason === ""
            ? onSilence(seconds)
            : Effect.logWarning("waiting for the trajectory service (npx @atropos/cli api starts one)", {
                seconds,
                reason
              })
        )
      )
  }
})

/** One request, made until the service answers. */
export const untilAnswered = <A>(
  request: Effect.Effect<A, TrajectoryError.TrajectoryError>
): Effect.Effect<A, TrainerError> =>
  Effect.flatMap(make, (patience) => patience.logged(() => Effect.void)(patience.request(request)))
