/**
 * Registers one environment: waits for the service and the trainer, and registers again if the service has forgotten
 * it.
 *
 * The original's environment crashes if it starts before the service, and when the service restarts.
 */
import { Effect, Latch, Option, Result, Semaphore } from "effect"
import type { EnvironmentClientShape } from "../../service/EnvironmentClient.ts"
import type { EnvironmentSpec, Registration } from "../../service/TrajectoryApi.ts"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"
import * as Waiting from "../../base/Waiting.ts"
import * as Retry from "../../base/Retry.ts"

export interface Connection {
  readonly registration: () => Registration
  readonly batchSize: () => number
  readonly maxTokenLength: () => number
  /**
   * Registers again, unless this already happened since `envId`. Waits as long as needed; if the service rejects it,
   * that is logged, and the caller may retry after the built-in pause.
   */
  readonly reconnect: (envId: number) => Effect.Effect<void>
  /** Completes when the registration is no longer `envId`. */
  readonly replaced: (envId: number) => Effect.Effect<void>
}

const trainerPollMillis = 1000
/** A persistent state is logged again after this many attempts. */
const attemptsPerReminder = 30

/** Registers and reads the run's batch size and token limit. Fails on permanent errors only. */
export const make = Effect.fn("Connection.make")(function* (client: EnvironmentClientShape, spec: EnvironmentSpec) {
  const lock = yield* Semaphore.make(1)
  const changed = Latch.makeUnsafe(false)

  const register = Effect.gen(function* () {
    const registration = yield* waiting(
      client.registerEnvironment(spec),
      "waiting for a trainer to request its first batch; start one: npx @atropos/cli train --model …"
    )
    const info = yield* waiting(Effect.asSome(client.runInfo), "waiting for the run's batch size")
    return { registration, info }
  })

  let current = yield* register
  const registerAgain = (envId: number): Effect.Effect<void, TrajectoryError> =>
    lock.withPermits(1)(
      Effect.suspend(() =>
        current.registration.envId === envId
          ? Effect.gen(function* () {
              current = yield* register
              yield* Effect.logInfo("re-registered", { name: current.registration.name })
              changed.openUnsafe()
              changed.closeUnsafe()
            })
          : Effect.void
      )
    )
  const connection: Connection = {
    registration: () => current.registration,
    batchSize: () => current.info.batchSize,
    maxTokenLength: () => current.info.maxTokenLength,
    reconnect: (envId) =>
      registerAgain(envId).pipe(
        Effect.catch((error) =>
          Effect.andThen(
            Effect.logError("could not re-register; retrying later", { reason: error.message }),
            Effect.flatMap(Retry.backoffMillis(5), Effect.sleep)
          )
        )
      ),
    replaced: (envId) =>
      Effect.gen(function* () {
        while (current.registration.envId === envId) yield* changed.await
      })
  }
  return connection
})

/** Polls until there is an answer; logs each change of state. */
const waiting = Effect.fnUntraced(function* <A>(
  ask: Effect.Effect<Option.Option<A>, TrajectoryError>,
  forWhat: string
) {
  let state = ""
  let attempts = 0
  const note = (next: string, details?: object): Effect.Effect<void> => {
    attempts = next === state ? attempts + 1 : 1
    state = next
    const log = details === undefined ? Effect.logInfo(next) : Effect.logInfo(next, details)
    return Effect.when(log, Effect.succeed(attempts % attemptsPerReminder === 1))
  }
  for (;;) {
    const answer = yield* Effect.result(ask).pipe(
      Waiting.telling((seconds) => Effect.logInfo("waiting for the trajectory service to answer", { seconds }))
    )
    if (Result.isSuccess(answer)) {
      if (Option.isSome(answer.success)) return answer.success.value
      yield* note(forWhat)
      yield* Effect.sleep(trainerPollMillis)
      continue
    }
    const error = answer.failure
    if (error.reason !== "unreachable" && error.reason !== "overloaded" && error.reason !== "notFound") {
      return yield* error
    }
    yield* note("waiting for the trajectory service; start one: npx @atropos/cli api", { reason: error.message })
    yield* Effect.sleep(yield* Retry.backoffMillis(attempts, { atLeast: error.retryAfterMillis ?? 0, cap: 10_000 }))
  }
})
