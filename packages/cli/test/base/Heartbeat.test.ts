/** What takes long says so while it does. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import * as Heartbeat from "../../src/base/Heartbeat.ts"

describe("Heartbeat", () => {
  it.effect("speaks every five seconds until its work has ended, and not of what is quick", () =>
    Effect.gen(function* () {
      const long = yield* Effect.forkChild(Heartbeat.during("loading")(Effect.as(Effect.sleep("12 seconds"), "done")))
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(yield* Fiber.join(long), "done")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* TestConsole.errorLines, ["loading: 5 s so far", "loading: 10 s so far"])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const seen: Array<number> = []
          const now = yield* Heartbeat.make((seconds) => Effect.sync(() => void seen.push(seconds)))
          yield* TestClock.adjust("3 seconds")
          yield* now
          yield* TestClock.adjust("11 seconds")
          // Five seconds after what was reported at once.
          assert.deepStrictEqual(seen, [3, 8, 13])
          // A run that hangs for hours fills no log.
          yield* TestClock.adjust("1 hour")
          assert.isBelow(seen.length, 3 + 120 + 51)
          assert.strictEqual(seen.at(-1)! - seen.at(-2)!, 60)
        })
      )
      assert.strictEqual(yield* Heartbeat.during("quick")(Effect.succeed(1)), 1)
      assert.strictEqual((yield* TestConsole.errorLines).length, 2)
    })
  )

  it.effect("speaks while what was interrupted ends, and leaves its result as it is", () =>
    Effect.gen(function* () {
      const saving = Effect.never.pipe(Effect.ensuring(Effect.sleep("11 seconds")), Heartbeat.whileStopping)
      const run = yield* Effect.forkChild(saving)
      yield* TestClock.adjust("1 minute")
      const stopping = yield* Effect.forkChild(Fiber.interrupt(run))
      yield* TestClock.adjust("11 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(yield* TestConsole.errorLines, ["stopping: 5 s so far", "stopping: 10 s so far"])
      assert.strictEqual(yield* Heartbeat.whileStopping(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(Heartbeat.whileStopping(Effect.fail("lost"))), "lost")
    })
  )
})
