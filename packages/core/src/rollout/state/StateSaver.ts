/** Saves the state of a run whenever there is news of it; an outage is told once, and not every second. */
import { Effect } from "effect"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"
import type { CheckpointError } from "./Checkpoint.ts"

/** Saves if `version` has changed; never fails, and tries again the next time it is called. */
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
          Effect.logWarning("state not saved; trying again", { reason: error.message }),
          Effect.succeed(isNews)
        )
      })
    )
  })
}
