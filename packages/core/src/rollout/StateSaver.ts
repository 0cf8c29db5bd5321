/** Saves the state of a run whenever its cursor has moved on; an outage is told once, and not every second. */
import { Effect } from "effect"
import type { TrajectoryError } from "../TrajectoryClient.ts"
import type { CheckpointError } from "./Checkpoint.ts"
import type { Cursor } from "./Cursor.ts"

/** Saves if there is anything new; never fails, and tries again the next time it is called. */
export const make = (
  cursor: Pick<Cursor, "version">,
  save: Effect.Effect<void, TrajectoryError | CheckpointError>
): Effect.Effect<void> => {
  let savedVersion = cursor.version()
  let isUnsaved = false
  return Effect.suspend(() => {
    const version = cursor.version()
    if (version === savedVersion) return Effect.void
    return save.pipe(
      Effect.andThen(
        Effect.sync(() => {
          savedVersion = version
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
