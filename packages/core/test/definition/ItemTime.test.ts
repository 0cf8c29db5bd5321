import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as ItemTime from "../../src/definition/ItemTime.ts"

const late = "took longer than 5 seconds"

/** The message of an item whose time is over. */
const messageOf = (item: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.exit(ItemTime.within(5, late)(item)))
    yield* TestClock.adjust("5 seconds")
    const exit = yield* Fiber.join(fiber)
    return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it ended"
  })

describe("ItemTime", () => {
  it.effect("names the score function that was running when an item's time was over, and only that", () =>
    Effect.gen(function* () {
      const scored = ItemTime.during("score")(Effect.void)
      const hanging = ItemTime.during("score")(Effect.never)
      assert.include(yield* messageOf(hanging), `${late}, in score`)
      const both = Effect.all([scored, hanging, hanging], { concurrency: "unbounded" })
      assert.match(yield* messageOf(both), /, in score$/)
      assert.match(yield* messageOf(Effect.andThen(scored, Effect.never)), /took longer than 5 seconds$/)
      assert.strictEqual(yield* messageOf(scored), "it ended")
      assert.strictEqual(yield* ItemTime.within(0, late)(Effect.succeed(1)), 1)
    })
  )

  it.effect("logs a score function that runs for long, and no other", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
      const fiber = yield* Effect.forkChild(Effect.provide(ItemTime.during("judge")(Effect.never), logger))
      yield* Effect.provide(ItemTime.during("judge")(Effect.void), logger)
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(logged, [])
      yield* TestClock.adjust("1 second")
      assert.match(JSON.stringify(logged), /judge has not ended; .*"seconds":30,"times":1/)
      yield* Fiber.interrupt(fiber)
    })
  )
})
