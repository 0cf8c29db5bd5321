/** Lines that are not groups: the first of them printed one by one, the rest counted. */
import { Console, Effect } from "effect"

/** How many are printed one by one, and how many go into reports. */
const mostPrinted = 20
const mostReported = 100

export interface FaultLog {
  readonly tell: (fault: string) => Effect.Effect<void>
  /** How many there were, once all is read. */
  readonly end: Effect.Effect<void>
  readonly first: () => ReadonlyArray<string>
}

export const make = (): FaultLog => {
  const first: Array<string> = []
  let count = 0
  return {
    tell: (fault) =>
      Effect.suspend(() => {
        count++
        if (first.length < mostReported) first.push(fault)
        if (count > mostPrinted) return Effect.void
        return Console.error(`skipped: ${fault}${count === mostPrinted ? "; further ones are only counted" : ""}`)
      }),
    end: Effect.suspend(() =>
      count === 0 ? Effect.void : Console.error(`${count} lines are not valid groups and were skipped`)
    ),
    first: () => first
  }
}
