/** What every sandbox for Python does with programs that try something else than their task. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { garbled, saying, swallowing } from "./Garbled.ts"
import { hostile, tests as hostileTests } from "./Hostile.ts"
import { good, holds, run, type SandboxTests, test } from "./Programs.ts"

export const suite = (it: SandboxTests) => {
  it.effect("fails tests that swallow what goes wrong on the line, however they do", () =>
    Effect.gen(function* () {
      const tested = yield* Effect.forEach(
        garbled,
        (frame) => Effect.map(test(saying(frame), swallowing), ({ tests }) => ({ frame, tests })),
        { concurrency: 2 }
      )
      const passing = tested.flatMap(({ frame, tests }) =>
        tests.flatMap(({ passed, total }, index) =>
          passed === total ? [`${frame.slice(0, 40)}: ${swallowing[index]}`] : []
        )
      )
      assert.deepStrictEqual(passing, [])
    })
  )

  it.effect("gives no pass to any program that tries something else than the task, and goes on as before", () =>
    Effect.gen(function* () {
      const results = yield* Effect.forEach(
        hostile,
        ({ kind, source }) =>
          Effect.map(test(source, hostileTests, { timeMillis: 500 }), (tested) => ({ kind, tested })),
        { concurrency: 2 }
      )
      const passing = results.filter(({ tested }) => tested.tests.some(({ passed, total }) => passed === total))
      assert.deepStrictEqual(
        passing.map(({ kind }) => kind),
        []
      )
      const after = yield* Effect.forEach([1, 2, 3, 4], () => test(good, hostileTests), {
        concurrency: "unbounded"
      })
      assert.isTrue(after.every(holds))
    })
  )

  it.effect("is as good as new after a run was interrupted", () =>
    Effect.gen(function* () {
      const endless = run("while True:\n    pass")
      yield* Effect.forEach([1, 2, 3], () => Effect.timeoutOption(endless, "300 millis"), {
        concurrency: "unbounded"
      })
      const after = yield* Effect.forEach([1, 2], () => test(good, hostileTests), { concurrency: "unbounded" })
      assert.isTrue(after.every(holds))
    })
  )
}
