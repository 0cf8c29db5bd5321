/** Counts changes, and lets waiters await the next one. */
import { Deferred, Effect } from "effect"

export interface Notifications {
  readonly count: () => number
  readonly record: () => void
  readonly after: (count: number) => Effect.Effect<void>
}

export const make = (): Notifications => {
  let count = 0
  let next = Deferred.makeUnsafe<void>()
  return {
    count: () => count,
    record: () => {
      const recorded = next
      count++
      next = Deferred.makeUnsafe<void>()
      Deferred.doneUnsafe(recorded, Effect.void)
    },
    after: (earlier) => Effect.suspend(() => (count > earlier ? Effect.void : Deferred.await(next)))
  }
}
