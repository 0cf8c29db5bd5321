/** Rollouts that keep failing are slowed down, and logged ever more rarely. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as FailureStreak from "../../../src/rollout/pool/FailureStreak.ts"

describe("failures in a row", () => {
  it.effect("pause the next start, and are logged the first, second, fourth and eighth time, with the reason", () => {
    const logged: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ message }) => void logged.push(message))
    return Effect.gen(function* () {
      const streak = FailureStreak.make(2)
      for (let round = 0; round < 10; round++) {
        streak.failed("refused")
        streak.failed("refused")
        assert.isTrue(streak.isSlow())
        const pausing = yield* Effect.forkChild(streak.pause)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(pausing)
        streak.ended()
        assert.isFalse(streak.isSlow())
      }
      const text = "rollouts keep failing; starting one at a time"
      const figures = { failuresInARow: 2, reason: "refused" }
      assert.deepStrictEqual(logged, [[text, figures], ...[2, 4, 8].map((times) => [text, { ...figures, times }])])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
