/**
 * Waits for real input and output under a test clock: until none is pending, rather than for a time in which a busy
 * machine may not finish.
 */
import { Effect } from "effect"
import * as Waits from "./Waits.ts"

/** True if this process waits for its file system. */
const isUnderWay = (): boolean => process.getActiveResourcesInfo().some((kind) => kind.startsWith("FSReq"))

const turn = Effect.callback<void>((resume) => {
  const next = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(next))
})

/**
 * Waits until nothing has been read or written for this many turns of the event loop: data passes between fibers in a
 * few turns, and may cause the next write.
 */
export const atRest = (turns: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let quiet = 0; quiet < turns; quiet++) {
      yield* turn
      while (isUnderWay()) {
        quiet = 0
        yield* Waits.untilTrue("the file system", () => !isUnderWay())
      }
    }
  })
