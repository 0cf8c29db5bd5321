/**
 * Tracks finished items: the lowest unfinished index (the frontier) and the finished ones above it.
 *
 * An item is finished once nothing holds it: its rollout, its requeued items, and its unacknowledged groups each hold
 * it once. What is saved therefore never runs ahead of what was delivered, and an item whose requeued items were lost
 * in a crash is rolled out again, with the same keys.
 */
import { Schema } from "effect"

/** A saved cursor: finished runs above the frontier as [first, last], ascending. */
export const Saved = Schema.Struct({
  frontier: Schema.Natural,
  finished: Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural]))
})
export type Saved = typeof Saved.Type

export interface Cursor {
  readonly hold: (index: number) => void
  /** Removes a hold; the item is finished with the last one. */
  readonly release: (index: number) => void
  readonly isFinished: (index: number) => boolean
  /** Lowest unfinished index: where the item stream resumes. */
  readonly frontier: () => number
  readonly holds: (index: number) => number
  /** Changes whenever the result of `save` would. */
  readonly version: () => number
  readonly save: () => Saved
}

export const start: Saved = { frontier: 0, finished: [] }

/** A cursor that continues from a saved one. */
export const make = (saved: Saved = start): Cursor => {
  let frontier = saved.frontier
  let version = 0
  const finished = new Set<number>()
  const holds = new Map<number, number>()
  const finish = (index: number): void => {
    if (index < frontier) return
    finished.add(index)
    while (finished.delete(frontier)) frontier++
  }
  for (const [first, last] of saved.finished) {
    for (let index = first; index <= last; index++) finish(index)
  }
  return {
    hold: (index) => void holds.set(index, (holds.get(index) ?? 0) + 1),
    release: (index) => {
      const left = (holds.get(index) ?? 1) - 1
      if (left > 0) {
        holds.set(index, left)
        return
      }
      holds.delete(index)
      finish(index)
      version++
    },
    isFinished: (index) => index < frontier || finished.has(index),
    frontier: () => frontier,
    holds: (index) => holds.get(index) ?? 0,
    version: () => version,
    save: () => ({ frontier, finished: runs(finished) })
  }
}

const runs = (finished: ReadonlySet<number>): ReadonlyArray<readonly [number, number]> => {
  const ascending = [...finished].sort((a, b) => a - b)
  const ranges: Array<[number, number]> = []
  for (const index of ascending) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === index - 1) last[1] = index
    else ranges.push([index, index])
  }
  return ranges
}
