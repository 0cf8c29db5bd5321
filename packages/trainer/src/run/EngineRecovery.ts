/**
 * Recovers from an engine that lost its weights (`engineLost`, for example a restarted server): returns to the last
 * checkpoint within the same process. Batches trained since are redelivered. Fails after `most` losses in a row without
 * a newer checkpoint.
 */
import { Effect, Result } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import type { Trainer } from "./Trainer.ts"

/** Max losses in a row. */
export const maxLosses = 5

/** Returns to the last checkpoint after a loss. Create once per run. */
export const make = (trainer: Pick<Trainer, "reopen" | "step">) => {
  let losses = 0
  let from = -1
  return Effect.fn("EngineRecovery.afterLoss")(function* (loss: TrainerError) {
    let cause = loss
    for (;;) {
      losses++
      yield* Effect.logWarning("engine lost its weights; returning to the last checkpoint", {
        message: cause.message,
        step: yield* trainer.step
      })
      const reopened = yield* Effect.result(trainer.reopen)
      if (Result.isFailure(reopened) && reopened.failure.reason !== "engineLost") return yield* reopened.failure
      if (Result.isFailure(reopened)) cause = reopened.failure
      const step = yield* trainer.step
      if (Result.isSuccess(reopened) && step > from) {
        losses = 1
        from = step
      }
      if (losses > maxLosses) {
        return yield* new TrainerError({
          reason: "engineLost",
          message:
            `${cause.message}; ${losses} times since the last checkpoint (of step ` +
            `${step}): lower checkpoint_interval, or find out why the engine loses its weights`,
          cause
        })
      }
      if (Result.isSuccess(reopened)) {
        yield* Effect.logInfo("training resumed", { step })
        return
      }
    }
  })
}
