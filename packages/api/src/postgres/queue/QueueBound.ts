/**
 * Bounds the queue of a run by sequences and bytes. The amount queued is that of the last database read, plus later
 * writes, plus pending writes.
 */
import { TrajectoryApiError } from "@atropos/core"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { bytesOf } from "../base/Objects.ts"
import type { Settings } from "../base/Settings.ts"
import type { RunView, RunStateCache } from "../base/RunStateCache.ts"
import type { Item } from "./InsertColumns.ts"

export interface Amount {
  readonly sequences: number
  readonly bytes: number
}

export interface QueueBound {
  /** Adds a pending write; call `removePending` once it has been written or has failed. */
  readonly addPending: (amount: Amount) => void
  readonly removePending: (amount: Amount) => void
  /** Adds a write that this view does not include. */
  readonly addWritten: (view: RunView, amount: Amount) => void
  readonly refuseWhenFull: (run: string) => Effect.Effect<void, SqlError | TrajectoryApiError.QueueFull>
}

export const amountOf = (items: ReadonlyArray<Item>): Amount => ({
  sequences: items.reduce((sum, { submission }) => sum + submission.sequences, 0),
  bytes: items.reduce((sum, { stored }) => sum + bytesOf(stored), 0)
})

const none: Amount = { sequences: 0, bytes: 0 }

const add = (a: Amount, b: Amount, sign: 1 | -1 = 1): Amount => ({
  sequences: a.sequences + sign * b.sequences,
  bytes: a.bytes + sign * b.bytes
})

const queuedIn = (view: RunView): Amount =>
  view.queued.reduce((sum, { bytes, groups, sequences }) => add(sum, { sequences: groups * sequences, bytes }), none)

export const make = (settings: Settings, runStates: RunStateCache): QueueBound => {
  let waiting = none
  /** By view: the amount written since it was read. */
  const writtenSince = new WeakMap<RunView, Amount>()

  const inQueue = (view: RunView | undefined): Amount =>
    view === undefined ? waiting : add(add(waiting, queuedIn(view)), writtenSince.get(view) ?? none)

  const isFull = ({ bytes, sequences }: Amount): boolean =>
    sequences >= settings.maxQueuedSequences || bytes >= settings.maxQueuedBytes

  return {
    addPending: (amount) => {
      waiting = add(waiting, amount)
    },
    removePending: (amount) => {
      waiting = add(waiting, amount, -1)
    },
    addWritten: (view, amount) => {
      writtenSince.set(view, add(writtenSince.get(view) ?? none, amount))
    },
    refuseWhenFull: Effect.fnUntraced(function* (name: string) {
      const { isCurrent, view } = yield* runStates.recent(name)
      if (!isFull(inQueue(view))) return
      // Claims since that view are not included.
      const amount = inQueue(isCurrent ? view : yield* runStates.get(name))
      if (!isFull(amount)) return
      return yield* new TrajectoryApiError.QueueFull({
        message:
          `the queue of run ${name} is full: ${amount.sequences} of ${settings.maxQueuedSequences} sequences, ` +
          `${amount.bytes} of ${settings.maxQueuedBytes} bytes`,
        retryAfterSeconds: 2
      })
    })
  }
}
