/**
 * What the trainer does when its engine has lost the weights (`engineLost`: a server was restarted): it goes back to
 * its last checkpoint within the same process, as a new process would after a kill. Batches trained on since come
 * again, because their leases were given back; those in the checkpoint do not.
 *
 * So often in a row and no more, without a newer checkpoint in between: an engine that loses its weights faster than
 * they are saved gets nowhere.
 */
import { Effect, Result } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import type { Trainer } from "./Trainer.ts"

/** Losses in a row. */
export const most = 5

/** Goes back to the last checkpoint after a loss. Made once for a run. */
export const make = (trainer: Pick<Trainer, "reopen" | "step">) => {
  let losses = 0
  let from = -1
  return Effect.fn("Reopening.afterLoss")(function* (loss: TrainerError) {
    let cause = loss
    for (;;) {
      losses++
      yield* Effect.logWarning("the engine lost its weights: going back to the last checkpoint", {
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
      if (losses > most) {
        return yield* new TrainerError({
          reason: "engineLost",
          message:
            `${cause.message}; that was ${losses} times without a checkpoint in between (the last one is of step ` +
            `${step}): lower checkpoint_interval, or look at why the engine does not keep its weights`,
          cause
        })
      }
      if (Result.isSuccess(reopened)) {
        yield* Effect.logInfo("training goes on", { step })
        return
      }
    }
  })
}
