/**
 * Real input and output beside a clock that stands still: what a test waits for is that none is under way, not a time
 * in which a busy machine may or may not get it done.
 */
import { Effect } from "effect"
import * as Waits from "./Waits.ts"

/** Whether this process waits for its file system. */
const isUnderWay = (): boolean => process.getActiveResourcesInfo().some((kind) => kind.startsWith("FSReq"))

const turn = Effect.callback<void>((resume) => {
  const next = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(next))
})

/**
 * Waits until nothing has been read or written for so many turns of the event loop: what was read is handed on from
 * fiber to fiber in a few, and may be the reason of the next write.
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
