/**
 * Reports what a test waits for, and the current state instead, when the limit of `vitest.config.ts` ends it: waits
 * need no limits of their own.
 */
import { Effect } from "effect"

export interface Wait {
  readonly what: string
  /** The current state, if that helps. */
  readonly seen?: () => unknown
}

const pending = new Set<Wait>()

/** Adds a wait until the returned function is called. */
export const begin = (wait: Wait): (() => void) => {
  pending.add(wait)
  return () => void pending.delete(wait)
}

const format = ({ seen, what }: Wait): string => {
  const value = seen?.()
  const text = typeof value === "string" || value instanceof Error ? String(value) : JSON.stringify(value)
  return value === undefined ? `waiting for ${what}` : `waiting for ${what}; seen: ${text}`
}

/** A line for each pending wait; undefined if none. */
export const report = (): string | undefined =>
  pending.size === 0 ? undefined : Array.from(pending, format).join("\n")

/** Forgets the waits of a file that has ended. */
export const clear = (): void => pending.clear()

/** Names what an effect waits for. */
export const named =
  (what: string, seen?: () => unknown) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const end = begin(seen === undefined ? { what } : { what, seen })
      return Effect.ensuring(effect, Effect.sync(end))
    })

/** Real time, regardless of the test's clock. */
const pause = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 2)
  return Effect.sync(() => clearTimeout(timer))
})

/**
 * Polls until the answer is as wanted. For states of other processes, threads and connections without an event to wait
 * for; the pause leaves the processor to them.
 */
export const until = <A, E, R>(
  what: string,
  ask: Effect.Effect<A, E, R>,
  isWanted: (answer: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let seen: unknown
    const asking = Effect.gen(function* () {
      for (;;) {
        const answer = yield* ask
        if (isWanted(answer)) return answer
        seen = answer
        yield* pause
      }
    })
    return named(what, () => seen)(asking)
  })

/** `until` for the state of this process. */
export const untilTrue = (what: string, isSo: () => boolean): Effect.Effect<void> =>
  Effect.asVoid(until(what, Effect.sync(isSo), (answer) => answer))
