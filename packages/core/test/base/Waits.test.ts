import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Waits from "./Waits.ts"

describe("Waits", () => {
  it.effect("reports what is waited for and what is seen instead, until the wait ends", () =>
    Effect.gen(function* () {
      let count = 0
      const asking = yield* Effect.forkChild(
        Waits.until(
          "three hundred questions",
          Effect.sync(() => ++count),
          (answer) => answer === 300 || count > 10_000
        ),
        { startImmediately: true }
      )
      const printing = yield* Effect.forkChild(Effect.never.pipe(Waits.named("a line", () => "usage: …")), {
        startImmediately: true
      })
      assert.include(Waits.report(), "waiting for three hundred questions; seen: 1")
      assert.include(Waits.report(), "waiting for a line; seen: usage: …")
      yield* Fiber.interrupt(printing)
      assert.strictEqual(yield* Fiber.join(asking), 300)
      assert.notInclude(Waits.report() ?? "", "a line")
      assert.notInclude(Waits.report() ?? "", "three hundred questions")
    })
  )
})
