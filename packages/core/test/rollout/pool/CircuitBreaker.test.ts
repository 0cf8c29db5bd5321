/** Rollouts that keep failing are slowed down, and logged ever more rarely. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as CircuitBreaker from "../../../src/rollout/pool/CircuitBreaker.ts"

describe("failures in a row", () => {
  it.effect("pause the next start, and are logged the first, second, fourth and eighth time, with the reason", () => {
    const logged: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ message }) => void logged.push(message))
    return Effect.gen(function* () {
      const breaker = CircuitBreaker.make(2)
      for (let round = 0; round < 10; round++) {
        breaker.failed("refused")
        breaker.failed("refused")
        assert.isTrue(breaker.isSlow())
        const pausing = yield* Effect.forkChild(breaker.pause)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(pausing)
        breaker.ended()
        assert.isFalse(breaker.isSlow())
      }
      const text = "rollouts keep failing; starting one at a time"
      const figures = { failuresInARow: 2, reason: "refused" }
      assert.deepStrictEqual(logged, [[text, figures], ...[2, 4, 8].map((times) => [text, { ...figures, times }])])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
