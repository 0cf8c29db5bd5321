/** Tests permits to start rollouts, in every trajectory store. */
import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { claimed, environment, runName, spec, submission, type StoreTests } from "./StoreValues.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"

/** A run with batches of 16, and environments with groups of 4. */
const waiting = Effect.fnUntraced(function* (waitAtStaleness: number | null, environments = 1) {
  const store = yield* TrajectoryStore.TrajectoryStore
  const run = runName()
  const announced = { ...spec(run, 16), startingStep: 0, waitAtStaleness }
  yield* store.registerRun(announced)
  yield* store.start(run)
  for (let i = 0; i < environments; i++) yield* store.registerEnvironment(run, environment(`e${i}`))
  return {
    store,
    run,
    announced,
    begin: (envId: number, underWay: number, more: number) =>
      Effect.map(store.begin(run, envId, { underWay, more }), ({ granted }) => granted),
    needed: Effect.map(store.begin(run, 0, { underWay: 0, more: 0 }), ({ policyVersion }) => policyVersion),
    submit: (envId: number, count: number) =>
      store.submit(
        run,
        Array.from({ length: count }, () => submission(4, envId, ""))
      ),
    bound: Effect.map(store.summary(run), ({ bound }) => bound),
    startable: (envId: number) => Effect.map(store.status(run, envId), (status) => status.startable)
  }
})

export const waits = (it: StoreTests): void => {
  it.effect("gives leave for as many rollouts as the bound allows, and again once samplers have new weights", () =>
    Effect.gen(function* () {
      const { begin, bound, run, startable, store, submit } = yield* waiting(0)
      assert.strictEqual(yield* startable(0), 16)
      assert.strictEqual(yield* begin(0, 0, 3), 3)
      assert.strictEqual(yield* startable(0), 4)
      assert.deepStrictEqual(yield* bound, { maxStaleness: 0, underWay: 12, startable: 4 })
      assert.strictEqual(yield* begin(0, 3, 9), 1)
      assert.strictEqual(yield* begin(0, 4, 9), 0)
      yield* submit(0, 4)
      assert.strictEqual(yield* begin(0, 0, 9), 0)
      const batch = (yield* claimed(store, run))!
      assert.strictEqual(yield* begin(0, 0, 9), 0)
      yield* store.trained(batch)
      assert.strictEqual(yield* startable(0), 16)
      assert.strictEqual(yield* begin(0, 0, 9), 4)
      // A nacked batch does not count as trained on until it is.
      yield* store.nack(batch)
      assert.strictEqual(yield* begin(0, 0, 9), 0)
      const again = (yield* claimed(store, run))!
      assert.strictEqual((yield* Effect.flip(store.trained(batch)))._tag, "LeaseLost")
      assert.strictEqual(yield* begin(0, 0, 9), 0)
      yield* store.ack(again)
      yield* store.trained(again)
      assert.strictEqual(yield* begin(0, 0, 9), 4)
    })
  )

  it.effect("names the policy version that samplers need, until a trainer registers or gives a batch back", () =>
    Effect.gen(function* () {
      const { announced, needed, run, store, submit } = yield* waiting(1)
      assert.isUndefined(yield* needed)
      yield* submit(0, 8)
      const first = (yield* claimed(store, run))!
      yield* store.trained({ ...first, policyVersion: 7 })
      assert.strictEqual(yield* needed, 7)
      yield* store.ack(first)
      assert.strictEqual(yield* needed, 7)
      // It goes back to a checkpoint, whose version is older; a sampler without any of its weights is no help.
      const second = (yield* claimed(store, run))!
      yield* store.nack(second)
      assert.strictEqual(yield* needed, 0)
      yield* store.trained({ ...(yield* claimed(store, run))!, policyVersion: 6 })
      assert.strictEqual(yield* needed, 6)
      yield* store.registerRun(announced)
      assert.isUndefined(yield* needed)
      // One that resumes loads its weights into samplers before it trains.
      yield* store.registerRun({ ...announced, startingStep: 6 })
      assert.strictEqual(yield* needed, 0)
    })
  )

  it.effect("counts what all environments have under way, however many ask at once", () =>
    Effect.gen(function* () {
      const { begin, store, run } = yield* waiting(1, 3)
      const asked = yield* Effect.forEach([0, 1, 2], (envId) => begin(envId, 0, 100), { concurrency: "unbounded" })
      assert.strictEqual(
        asked.reduce((sum, one) => sum + one, 0),
        8
      )
      assert.isTrue(asked.every((one) => one >= 2))
      yield* store.disconnectEnvironment(run, 1)
      assert.strictEqual(yield* begin(0, asked[0]!, 100), Math.min(asked[1]!, 4 - asked[0]!))
    })
  )

  it.effect("forgets what an environment had under way that is not heard of for half a minute", () =>
    Effect.gen(function* () {
      const { begin, bound, startable } = yield* waiting(0, 2)
      assert.strictEqual(yield* begin(0, 0, 100), 2)
      assert.strictEqual(yield* begin(1, 0, 100), 2)
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(yield* begin(1, 2, 100), 0)
      assert.strictEqual(yield* startable(1), 0)
      yield* TestClock.adjust("2 seconds")
      // And reports it; otherwise the others would only ask every five seconds, at every batch from now on.
      assert.strictEqual(yield* startable(1), 8)
      assert.deepStrictEqual(yield* bound, { maxStaleness: 0, underWay: 8, startable: 8 })
      assert.strictEqual(yield* begin(1, 2, 100), 2)
      assert.deepStrictEqual(yield* bound, { maxStaleness: 0, underWay: 16, startable: 0 })
    })
  )

  it.effect("counts what is under way of an environment that only reports, however long its rollouts take", () =>
    Effect.gen(function* () {
      const { begin, bound, run, startable, store } = yield* waiting(0, 2)
      assert.strictEqual(yield* begin(0, 0, 100), 2)
      const report = { running: 2, unsent: 0, itemsPerMinute: 0, failures: 0, lastError: null, servers: [] }
      for (let i = 0; i < 12; i++) {
        yield* TestClock.adjust("5 seconds")
        yield* store.recordReport(run, 0, report)
      }
      assert.strictEqual(yield* startable(1), 8)
      assert.deepStrictEqual(yield* bound, { maxStaleness: 0, underWay: 8, startable: 8 })
      assert.strictEqual(yield* begin(1, 0, 100), 2)
    })
  )

  it.effect("holds nobody back where the trainer that registered last does not ask for it", () =>
    Effect.gen(function* () {
      const { announced, begin, bound, run, startable, store } = yield* waiting(null)
      assert.isNull(yield* bound)
      assert.isUndefined(yield* startable(0))
      assert.strictEqual(yield* begin(0, 0, 1000), 1000)
      assert.strictEqual((yield* store.registerRun({ ...announced, waitAtStaleness: 2 })).waitAtStaleness, 2)
      assert.strictEqual(yield* startable(0), 48)
      assert.strictEqual(yield* begin(0, 0, 1000), 12)
      const { waitAtStaleness: _, ...older } = announced
      assert.isNull((yield* store.registerRun(older)).waitAtStaleness)
      assert.isNull(Option.getOrThrow(yield* store.run(run)).waitAtStaleness)
      assert.isUndefined(yield* startable(0))
      assert.strictEqual((yield* Effect.flip(begin(7, 0, 1)))._tag, "UnknownEnvironment")
    })
  )
}
