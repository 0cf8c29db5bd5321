/** Counts a session's requests: what was ignored, overridden or adapted in them, and how they failed. */
import type { Failure } from "../dialect/Dialect.ts"
import type { SessionCounts } from "./Session.ts"
import * as Tally from "./Tally.ts"

export interface RequestCounts {
  readonly ignore: (parameters: ReadonlyArray<string>) => void
  readonly override: (parameters: ReadonlyArray<string>) => void
  readonly adapt: (changes: ReadonlyArray<string>) => void
  readonly fail: (failure: Failure) => void
  /** The client disconnected during sampling. */
  readonly cancel: () => void
  /** Answered, and not to be trained. */
  readonly mask: () => void
  readonly all: () => Pick<SessionCounts, "ignored" | "overridden" | "adapted" | "failed" | "cancelled" | "untrained">
  /** The message of the last failure. */
  readonly lastFailure: () => string | undefined
}

export const make = (): RequestCounts => {
  const ignored = Tally.make()
  const overridden = Tally.make()
  const adapted = Tally.make()
  const failed = Tally.make()
  let last: string | undefined
  let cancelled = 0
  let untrained = 0
  return {
    ignore: (parameters) => parameters.forEach(ignored.add),
    override: (parameters) => parameters.forEach(overridden.add),
    adapt: (changes) => changes.forEach(adapted.add),
    fail: ({ message, reason }) => {
      failed.add(reason)
      last = message
    },
    cancel: () => void cancelled++,
    mask: () => void untrained++,
    all: () => ({
      ignored: ignored.all(),
      overridden: overridden.all(),
      adapted: adapted.all(),
      failed: failed.all(),
      cancelled,
      untrained
    }),
    lastFailure: () => last
  }
}
