/** Lines that are no groups: the first of them told one by one, the rest counted. */
import { Console, Effect } from "effect"

/** Told one by one, and kept for reports. */
const told = 20
const kept = 100

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
        if (first.length < kept) first.push(fault)
        if (count > told) return Effect.void
        return Console.error(`skipped: ${fault}${count === told ? "; further ones are only counted" : ""}`)
      }),
    end: Effect.suspend(() =>
      count === 0 ? Effect.void : Console.error(`${count} lines are not valid groups and were skipped`)
    ),
    first: () => first
  }
}
