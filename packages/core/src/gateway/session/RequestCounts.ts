/** Counts a session's requests: what was ignored, overridden or adapted in them, and how they failed. */
import type { Failure } from "../dialect/Dialect.ts"
import type { SessionCounts } from "./Session.ts"

/** Counts by name; beyond a number of distinct names, the others are counted together. */
interface Tally {
  readonly add: (name: string) => void
  readonly all: () => { readonly [name: string]: number }
}

/** Names are partly chosen by callers, so they must be bounded. */
const maxNames = 256
const others = "others"

const makeTally = (): Tally => {
  const counts = new Map<string, number>()
  return {
    add: (name) => {
      const counted = counts.has(name) || counts.size < maxNames ? name : others
      counts.set(counted, (counts.get(counted) ?? 0) + 1)
    },
    all: () => Object.fromEntries(counts)
  }
}

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
  const ignored = makeTally()
  const overridden = makeTally()
  const adapted = makeTally()
  const failed = makeTally()
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
