import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Waiting from "../../src/base/Waiting.ts"

describe("Waiting", () => {
  it.effect("says for what after a moment, then ever more sparsely, and no more once it is there", () =>
    Effect.gen(function* () {
      const said: Array<number> = []
      const come = yield* Deferred.make<string>()
      const fiber = yield* Deferred.await(come).pipe(
        Waiting.telling((seconds) => Effect.sync(() => void said.push(seconds))),
        Effect.forkChild
      )
      yield* TestClock.adjust("900 millis")
      assert.deepStrictEqual(said, [])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(said, [1, 31, 62, 124, 248, 496])
      yield* TestClock.adjust("20 minutes")
      assert.deepStrictEqual(said.slice(6), [992, 1592])
      yield* Deferred.succeed(come, "there")
      assert.strictEqual(yield* Fiber.join(fiber), "there")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(said.length, 8)
    })
  )
})
