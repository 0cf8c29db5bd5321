/**
 * The bound of staleness that a run's environments wait at (`on_stale wait`): the service is told of every batch that
 * was learned from once the samplers have the weights, in the background and until it answers. Environments go on when
 * it knows.
 */
import { TrainerClient, TrajectoryError } from "@atropos/core"
import { Effect, type Scope } from "effect"
import type { Hooks } from "./TrainingStep.ts"

/** Tells the service until the scope closes. */
export const make: Effect.Effect<Hooks["published"], never, TrainerClient.TrainerClient | Scope.Scope> = Effect.gen(
  function* () {
    const client = yield* TrainerClient.TrainerClient
    const scope = yield* Effect.scope
    let isTaken = true
    return (batch) =>
      Effect.suspend(() => (isTaken ? client.trained(batch) : Effect.void)).pipe(
        Effect.retry(TrajectoryError.reconnecting),
        Effect.catch(({ message, reason }) => {
          // Another trainer has the batch, and will tell.
          if (reason === "leaseLost") return Effect.void
          // A service of an earlier version has no such endpoint, and holds nobody back.
          isTaken = reason !== "notFound"
          const log = isTaken ? Effect.logWarning : Effect.logDebug
          return log("the service was not told of a batch that was learned from", {
            batch: batch.id,
            reason,
            message
          })
        }),
        Effect.forkIn(scope),
        Effect.asVoid
      )
  }
)

/** Warns where the service does not hold environments back. */
export const check = Effect.fnUntraced(function* (
  info: Effect.Effect<{ readonly waitAtStaleness?: number | null }, unknown>,
  bound: number
) {
  const { waitAtStaleness } = yield* Effect.orElseSucceed(info, () => ({ waitAtStaleness: bound }))
  if (waitAtStaleness === bound) return
  yield* Effect.logWarning("this service cannot let environments wait: sequences that are too old are dropped", {
    on_stale: "wait",
    max_staleness: bound,
    because: "it is of an earlier version, or the original's; a newer one can (npx @atropos/cli api)"
  })
})
