/**
 * Reports trained batches to the service for `on_stale wait`, in the background and with retries, once the samplers
 * have their weights; environments waiting at a staleness bound then continue.
 */
import { TrainerClient, TrajectoryError } from "@atropos/core"
import { Effect, type Scope } from "effect"
import type { Hooks } from "./TrainingStep.ts"

export const make: Effect.Effect<Hooks["published"], never, TrainerClient.TrainerClient | Scope.Scope> = Effect.gen(
  function* () {
    const client = yield* TrainerClient.TrainerClient
    const scope = yield* Effect.scope
    let isTaken = true
    return (batch) =>
      Effect.suspend(() => (isTaken ? client.trained(batch) : Effect.void)).pipe(
        Effect.retry(TrajectoryError.reconnecting),
        Effect.catch(({ message, reason }) => {
          // The trainer that now holds the batch will report it.
          if (reason === "leaseLost") return Effect.void
          // Older services lack this endpoint and never delay environments.
          isTaken = reason !== "notFound"
          const log = isTaken ? Effect.logWarning : Effect.logDebug
          return log("could not report a trained batch to the service", {
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

/** Warns if the service does not let environments wait. */
export const check = Effect.fnUntraced(function* (
  info: Effect.Effect<{ readonly waitAtStaleness?: number | null }, unknown>,
  bound: number
) {
  const { waitAtStaleness } = yield* Effect.orElseSucceed(info, () => ({ waitAtStaleness: bound }))
  if (waitAtStaleness === bound) return
  yield* Effect.logWarning("this service cannot make environments wait; sequences that are too old are dropped", {
    on_stale: "wait",
    max_staleness: bound,
    because: "it is an earlier version, or the original's; start a newer one: npx @atropos/cli api"
  })
})
