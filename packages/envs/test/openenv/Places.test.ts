/** How many episodes run at once, where a server says that it is full. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import * as Places from "../../src/openenv/Places.ts"

/** A server that takes so many at once; counts what it refused. */
const server = (capacity: number, places: Places.Places) => {
  const seen = { refusals: 0, max: 0, active: 0 }
  const episode: Effect.Effect<void> = Effect.gen(function* () {
    yield* places.enter
    if (seen.active >= capacity) {
      seen.refusals++
      places.lower()
      yield* places.leave
      return yield* episode
    }
    seen.active++
    seen.max = Math.max(seen.max, seen.active)
    for (let turn = 0; turn < 3; turn++) yield* Effect.yieldNow
    seen.active--
    places.raise()
    yield* places.leave
  })
  return { seen, episode }
}

describe("Places", () => {
  it.effect.prop(
    "every episode is played, whatever a server takes",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))
    ],
    ([capacity, most]) =>
      Effect.gen(function* () {
        const places = Places.make(most)
        const { episode, seen } = server(capacity, places)
        yield* Effect.forEach(Array.from({ length: 60 }), () => episode, { concurrency: "unbounded", discard: true })
        assert.strictEqual(seen.active, 0)
        assert.isAtMost(seen.max, Math.min(capacity, most))
        assert.isAtMost(places.limit(), most)
        if (capacity >= most) assert.strictEqual(seen.refusals, 0)
        else assert.isAbove(seen.refusals, 0)
      })
  )

  it.effect("rise again when the server takes more", () =>
    Effect.gen(function* () {
      const places = Places.make(8)
      const { episode: few } = server(2, places)
      yield* Effect.forEach(Array.from({ length: 8 }), () => few, { concurrency: "unbounded", discard: true })
      assert.isBelow(places.limit(), 8)
      const { episode: many, seen } = server(8, places)
      yield* Effect.forEach(Array.from({ length: 60 }), () => many, { concurrency: "unbounded", discard: true })
      assert.strictEqual(places.limit(), 8)
      assert.strictEqual(seen.max, 8)
    })
  )

  it.effect("who gives up waiting takes no place", () =>
    Effect.gen(function* () {
      const places = Places.make(1)
      yield* places.enter
      const [one, two] = [yield* Effect.forkChild(places.enter), yield* Effect.forkChild(places.enter)]
      yield* Effect.yieldNow
      yield* Fiber.interrupt(one)
      yield* places.leave
      yield* Fiber.join(two)
      yield* places.leave
      yield* places.enter
    })
  )
})
