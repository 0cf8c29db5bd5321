/**
 * The database's time as this machine goes on with it: what the machine itself does to its clocks must not move leases.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as Database from "../../../src/database/Database.ts"
import * as StoreClock from "../../../src/postgres/base/StoreClock.ts"

/** The machine's clock, with elapsed time as it is set. */
const machine = (clock: Clock.Clock) => {
  let elapsedMillis = 0
  const given: Clock.Clock =
    // All the rest is the clock's own.
    Object.create(clock, {
      monotonicTimeNanos: {
        value: Effect.sync(() => {
          const now = elapsedMillis
          if (whenRead !== undefined) elapsedMillis += whenRead
          return BigInt(now) * 1_000_000n
        })
      }
    }) as Clock.Clock
  let whenRead: number | undefined
  return {
    clock: given,
    /** Every look at it lets so much pass. */
    passing: (millis: number | undefined) => {
      whenRead = millis
    },
    pass: (millis: number) => {
      elapsedMillis += millis
    }
  }
}

/** The time that the store gives, which is the machine's while it is asked, to the precision of both clocks. */
const askedNow = Effect.fnUntraced(function* (store: StoreClock.StoreClock, clock: Clock.Clock) {
  const before = Date.now()
  const now = yield* Effect.provideService(store.now, Clock.Clock, clock)
  assert.isAtLeast(now, before - 1000)
  assert.isAtMost(now, Date.now() + 1000)
})

describe("the database's time", () => {
  it.live("is not moved by the time that the database took to tell it", () =>
    Effect.gen(function* () {
      const { clock, passing } = machine(yield* Clock.Clock)
      const store = yield* StoreClock.make
      passing(30_000)
      yield* Effect.provideService(store.now, Clock.Clock, clock)
      passing(undefined)
      yield* askedNow(store, clock)
    }).pipe(Effect.provide(Database.layerPglite()))
  )

  it.live("is asked for again where this machine's two clocks do not agree: it slept, or one was set", () =>
    Effect.gen(function* () {
      const { clock, pass } = machine(yield* Clock.Clock)
      const store = yield* StoreClock.make
      yield* Effect.provideService(store.now, Clock.Clock, clock)
      pass(60_000)
      yield* askedNow(store, clock)
    }).pipe(Effect.provide(Database.layerPglite()))
  )
})
