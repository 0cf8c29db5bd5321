/**
 * Which items are done: the lowest unfinished index (the frontier) and the finished ones above it.
 *
 * An item is finished when nothing holds it any more: its rollout, what it put back in the queue, and its groups until
 * the service has acknowledged them each hold it once. So what is saved never runs ahead of what was delivered, and an
 * item that put others back is rolled out again, with the same keys, when a crash lost those.
 */
import { Schema } from "effect"

/** A cursor as saved: finished runs above the frontier as [first, last], ascending. */
export const Saved = Schema.Struct({
  frontier: Schema.Natural,
  finished: Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural]))
})
export type Saved = typeof Saved.Type

export interface Cursor {
  /** One more reason why `index` is not finished. */
  readonly hold: (index: number) => void
  /** One reason less; with the last one the item is finished. */
  readonly release: (index: number) => void
  readonly isFinished: (index: number) => boolean
  /** Lowest index that is not finished: where the item stream resumes. */
  readonly frontier: () => number
  /** Reasons that hold `index`. */
  readonly holds: (index: number) => number
  /** Changes whenever `save` would say something new. */
  readonly version: () => number
  readonly save: () => Saved
}

export const start: Saved = { frontier: 0, finished: [] }

/** A cursor that continues where a saved one ended. */
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
