/** Logs invalid lines of group files: the first ones are printed individually, the rest counted. */
import { Console, Effect } from "effect"

const maxPrinted = 20
const maxReported = 100

export interface FaultLog {
  readonly report: (fault: string) => Effect.Effect<void>
  /** Reports the total after the last line. */
  readonly end: Effect.Effect<void>
  readonly first: () => ReadonlyArray<string>
}

export const make = (): FaultLog => {
  const first: Array<string> = []
  let count = 0
  return {
    report: (fault) =>
      Effect.suspend(() => {
        count++
        if (first.length < maxReported) first.push(fault)
        if (count > maxPrinted) return Effect.void
        return Console.error(`skipped: ${fault}${count === maxPrinted ? "; others are only counted" : ""}`)
      }),
    end: Effect.suspend(() =>
      count === 0 ? Effect.void : Console.error(`${count} lines are not valid groups and were skipped`)
    ),
    first: () => first
  }
}
