/** Follows the status of an environment, through outages and re-registrations. */
import { Effect, Result, Stream } from "effect"
import type { EnvironmentClientShape } from "../../service/EnvironmentClient.ts"
import type { EnvironmentStatus } from "../../service/TrajectoryApi.ts"
import * as Retry from "../../base/Retry.ts"
import type { Connection } from "./Connection.ts"

export const run = Effect.fnUntraced(function* (options: {
  readonly client: Pick<EnvironmentClientShape, "statusChanges">
  readonly connection: Connection
  readonly onStatus: (status: EnvironmentStatus) => Effect.Effect<void>
}): Effect.fn.Return<never> {
  const { client, connection, onStatus } = options
  let attempts = 0
  for (;;) {
    const { envId } = connection.registration()
    const followed = yield* client.statusChanges(envId).pipe(
      Stream.runForEach((next) => {
        attempts = 0
        return onStatus(next)
      }),
      Effect.raceFirst(connection.replaced(envId)),
      Effect.result
    )
    if (connection.registration().envId !== envId) continue
    attempts++
    if (Result.isFailure(followed)) {
      if (followed.failure.reason === "notFound") {
        yield* connection.reconnect(envId)
        continue
      }
      if (attempts === 1) {
        yield* Effect.logWarning("trajectory service status unavailable", { reason: followed.failure.message })
      }
    }
    yield* Effect.sleep(yield* Retry.backoffMillis(attempts, { cap: 10_000 }))
  }
})
