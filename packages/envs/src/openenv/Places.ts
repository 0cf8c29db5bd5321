/**
 * Limits concurrent episodes adaptively: a refusal lowers the limit to the number running, and it rises by one after a
 * number of successful episodes. Waiting is first come, first served.
 */
import { Effect, Latch } from "effect"

export interface Places {
  readonly enter: Effect.Effect<void>
  readonly leave: Effect.Effect<void>
  /** Reports that an episode with a slot was refused: lowers the limit to the number of others and returns it. */
  readonly lower: () => number
  /** Reports a success. */
  readonly raise: () => void
  readonly limit: () => number
}

/** Starts with a limit of `max`. */
export const make = (max: number): Places => {
  const waiting: Array<Latch.Latch> = []
  let limit = max
  let busy = 0
  let wellGone = 0

  const wake = Effect.suspend(() => {
    const next = busy < limit ? waiting.shift() : undefined
    return next === undefined ? Effect.void : next.open
  })
  const inTurn: Effect.Effect<void> = Effect.suspend(() => {
    const latch = Latch.makeUnsafe(false)
    waiting.push(latch)
    // Its turn may have come simultaneously: then it passes to the next one.
    const giveUp = Effect.suspend(() => {
      const at = waiting.indexOf(latch)
      if (at === -1) return wake
      waiting.splice(at, 1)
      return Effect.void
    })
    return Effect.andThen(
      Effect.onInterrupt(latch.await, () => giveUp),
      taken
    )
  })
  const taken: Effect.Effect<void> = Effect.suspend(() => {
    if (busy >= limit) return inTurn
    busy++
    return wake
  })
  return {
    enter: Effect.suspend(() => (waiting.length === 0 ? taken : inTurn)),
    leave: Effect.suspend(() => {
      busy--
      return wake
    }),
    lower: () => {
      const others = busy - 1
      limit = Math.max(1, Math.min(limit, others))
      wellGone = 0
      return others
    },
    raise: () => {
      if (++wellGone < limit || limit >= max) return
      limit++
      wellGone = 0
    },
    limit: () => limit
  }
}
