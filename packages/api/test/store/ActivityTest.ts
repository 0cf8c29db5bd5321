/** Tests the activity state of runs in the store. */
import { assert } from "@effect/vitest"
import { Clock, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { environment, spec, started, trainer, type StoreTests } from "./StoreValues.ts"

const report = {
  running: 3,
  unsent: 1,
  itemsPerMinute: 12.5,
  failures: 2,
  lastError: { at: 5, message: "no" },
  servers: []
}

export const activities = (it: StoreTests): void => {
  it.effect("tells of each run whether it moves, by its rows, its leases and who was heard of", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(2)
      const activity = Effect.map(reader.runs, (all) => all.find(({ name }) => name === run)?.activity)
      const { envId } = Option.getOrThrow(yield* store.registerEnvironment(run, environment("x", { groupSize: 2 })))
      yield* store.claim(run, trainer)
      assert.strictEqual((yield* activity)?.state, "starting")
      for (let step = 1; step <= 3; step++) {
        yield* TestClock.adjust("1 second")
        yield* store.recordReport(run, envId, report)
        yield* store.recordMetrics(run, { source: "trainer", step, values: { loss: 1 } })
      }
      assert.strictEqual((yield* activity)?.state, "running")
      yield* TestClock.adjust("3 minutes")
      const lastError = { at: yield* Clock.currentTimeMillis, message: "the grader is away" }
      // Visible immediately, although it is only persisted occasionally.
      yield* store.claim(run, trainer)
      yield* store.recordReport(run, envId, { ...report, lastError })
      const stalled = yield* activity
      assert.deepStrictEqual(
        [stalled?.state, stalled?.environment, stalled?.reason],
        ["stalled", "x_0", "x_0: the grader is away"]
      )
      assert.deepStrictEqual(stalled?.errors, [{ environment: "x_0", message: "the grader is away" }])
      yield* TestClock.adjust("3 hours")
      const killed = yield* activity
      assert.strictEqual(killed?.state, "stopped")
      assert.include(killed?.reason, "without deregistering after step 3")
      yield* store.disconnectEnvironment(run, envId)
      assert.deepInclude(yield* activity, { state: "stopped", reason: "x_0: the grader is away" })
      // Resumed: its last step is from before.
      yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
      assert.strictEqual((yield* activity)?.state, "starting")
      yield* store.recordMetrics(run, { source: "trainer", step: spec(run, 2).numSteps, values: { loss: 1 } })
      assert.strictEqual((yield* activity)?.state, "done")
    })
  )
}
