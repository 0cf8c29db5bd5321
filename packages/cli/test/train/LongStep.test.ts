/** A step that takes long says what it is doing. */
import { assert, describe, it } from "@effect/vitest"
import { OnPart } from "@atropos/trainer/run/Trainer"
import { Effect, Fiber, Stream } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import * as Progress from "../../src/base/Progress.ts"
import * as LongStep from "../../src/train/LongStep.ts"
import { step } from "./Steps.ts"

/** Waits, computes and hands weights over, so many seconds each. */
const taken = (number: number, [wait, compute, publish]: readonly [number, number, number]) =>
  Effect.gen(function* () {
    const onPart = yield* OnPart
    yield* Effect.sleep(wait * 1000)
    onPart("compute")
    yield* Effect.sleep(compute * 1000)
    onPart("publish")
    yield* Effect.sleep(publish * 1000)
    return step(number)
  })

const run = (options: LongStep.Options) =>
  Stream.fromIterable([
    [1, 1, 1],
    [7, 4, 6],
    [1, 6, 1]
  ] as const).pipe(
    Stream.mapEffect((seconds, index) => taken(index + 1, seconds)),
    LongStep.reported(options),
    // Not a part of a step.
    Stream.tap(() => Effect.sleep("20 seconds")),
    Stream.runDrain,
    Effect.provideService(Progress.Presenter, "lines")
  )

describe("a step that takes long", () => {
  it.effect("says every five seconds what it is doing, and is silent between steps", () =>
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(run({ done: 0, total: 3, waiting: "sampling" }))
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(running)
      assert.deepStrictEqual(yield* TestConsole.errorLines, [
        "step 2/3, sampling: 5 s so far",
        "step 2/3, training: 10 s so far",
        "step 2/3, sync: 15 s so far",
        "step 3/3, training: 5 s so far"
      ])
    })
  )

  it.effect("reports its own work alone where rollouts are another program's", () =>
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(run({ done: 0, total: 3 }))
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(running)
      const lines = yield* TestConsole.errorLines
      assert.strictEqual(lines[0], "step 2/3, training: 10 s so far")
      assert.strictEqual(lines.length, 3)
    })
  )
})
