/** Saves the state of a run whenever it changes; an outage is logged once instead of every second. */
import { Effect } from "effect"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"
import type { CheckpointError } from "./Checkpoint.ts"

/** Saves if `version` has changed; never fails, and retries at the next call. */
export const make = (
  version: () => number,
  save: Effect.Effect<void, TrajectoryError | CheckpointError>
): Effect.Effect<void> => {
  let savedVersion = version()
  let isUnsaved = false
  return Effect.suspend(() => {
    const present = version()
    if (present === savedVersion) return Effect.void
    return save.pipe(
      Effect.andThen(
        Effect.sync(() => {
          savedVersion = present
          isUnsaved = false
        })
      ),
      Effect.catch((error) => {
        const isNews = !isUnsaved
        isUnsaved = true
        return Effect.when(
          Effect.logWarning("state could not be saved; retrying", { reason: error.message }),
          Effect.succeed(isNews)
        )
      })
    )
  })
}
