/** Tests runs of every trajectory store: registration, environments, metrics, state, end. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import {
  claimed,
  environment,
  runName,
  spec,
  started,
  submission,
  textOf,
  trainer,
  type StoreTests
} from "./StoreValues.ts"

export const runs = (it: StoreTests): void => {
  it.effect("registers a run once; a second registration changes nothing", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const again = yield* store.registerRun({ ...spec(run), batchSize: 77, startingStep: 9 })
      assert.deepInclude(again, { batchSize: 8, currentStep: 3, registered: true, started: true })
      assert.include(
        (yield* store.runs).map(({ name }) => name),
        run
      )
    })
  )

  it.effect(
    "takes over the number of steps of a trainer that goes on for longer, and tells environments that come then",
    () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const { numSteps } = Option.getOrThrow(yield* store.run(run))
        const longer = numSteps + 50
        assert.strictEqual((yield* store.registerRun({ ...spec(run), numSteps: longer })).numSteps, longer)
        assert.strictEqual((yield* store.registerRun({ ...spec(run), numSteps: 1 })).numSteps, longer)
        const registration = Option.getOrThrow(yield* store.registerEnvironment(run, environment("late")))
        assert.strictEqual(registration.numSteps, longer)
      })
  )

  it.effect("knows how a run's trainer makes advantages, as the one that registered last told it", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const known = Effect.map(store.run(run), (found) => Option.getOrThrow(found).advantages)
      assert.isNull(yield* known)
      const rule = { loss: "dapo", baseline: "group", advantageScale: "none", isUsed: true, computedBy: "own" } as const
      assert.deepStrictEqual((yield* store.registerRun({ ...spec(run), advantages: rule })).advantages, rule)
      const other = { ...rule, loss: "grpo", advantageScale: "sample-std" } as const
      assert.deepStrictEqual((yield* store.registerRun({ ...spec(run), advantages: other })).advantages, other)
      // A registration without settings keeps the earlier ones.
      yield* store.registerRun(spec(run))
      assert.deepStrictEqual(yield* known, other)
    })
  )

  it.effect("numbers environments of one name, and lets them in once the trainer has asked for a batch", () =>
    Effect.gen(function* () {
      const store = yield* TrajectoryStore.TrajectoryStore
      const run = runName()
      assert.isTrue(Option.isNone(yield* store.registerEnvironment(run, environment("x"))))
      yield* store.registerRun(spec(run))
      assert.isTrue(Option.isNone(yield* store.registerEnvironment(run, environment("x"))))
      yield* store.start(run)
      const names = yield* Effect.forEach(
        ["x", "x", "y", "x"],
        (desired) => store.registerEnvironment(run, environment(desired)),
        { concurrency: "unbounded" }
      )
      const registrations = names.map(Option.getOrThrow)
      assert.deepStrictEqual(new Set(registrations.map(({ envId }) => envId)), new Set([0, 1, 2, 3]))
      assert.deepStrictEqual(registrations.map(({ name }) => name).toSorted(), ["x_0", "x_1", "x_2", "y_0"])
      assert.deepInclude(registrations[0], { startingStep: 3, numSteps: 100, checkpointInterval: 5 })
      yield* store.disconnectEnvironment(run, 1)
      assert.deepStrictEqual(
        (yield* store.environments(run)).map(({ connected }) => connected),
        [true, false, true, true]
      )
      const error = yield* Effect.flip(store.disconnectEnvironment(run, 9))
      assert.deepInclude(error, { _tag: "UnknownEnvironment", run, envId: 9 })
    })
  )

  it.effect("lists runs beside one whose steps no longer fit a number", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started(2)
      const odd = `${run}-odd`
      yield* store.registerRun({ ...spec(odd, 2), startingStep: Number.MAX_SAFE_INTEGER })
      yield* store.start(odd)
      yield* store.submit(odd, [submission(2, null, "a"), submission(2, null, "b")])
      assert.isDefined(yield* claimed(store, odd))
      assert.isDefined(yield* claimed(store, odd))
      const all = yield* store.runs
      assert.isTrue(all.every(({ currentStep }) => Number.isSafeInteger(currentStep)))
      assert.includeMembers(
        all.map(({ name }) => name),
        [run, odd]
      )
    })
  )

  it.effect("tells an environment the original's figures", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("a", { minBatchAllocation: 0.5 }))
      yield* store.registerEnvironment(
        run,
        environment("b", { groupSize: 2, maxTokenLength: 200, minBatchAllocation: 0.25, weight: 3 })
      )
      yield* store.registerEnvironment(run, environment("c"))
      for (const [size, envId] of [
        [4, 0],
        [2, 1],
        [4, 2],
        [4, 0],
        [2, 1]
      ] as const) {
        yield* store.submit(run, [submission(size, envId, "")])
      }
      const common = { currentStep: 3, unallocatedFraction: 0.25, maxGroupSize: 4 }
      assert.deepStrictEqual(yield* store.status(run, 0), {
        ...common,
        queueSize: 3,
        selfQueueSize: 2,
        envWeight: 0.125
      })
      assert.deepStrictEqual(yield* store.status(run, 1), {
        ...common,
        queueSize: 6,
        selfQueueSize: 2,
        envWeight: 0.75
      })
      assert.deepStrictEqual(yield* store.status(run, 2), {
        ...common,
        queueSize: 2,
        selfQueueSize: 1,
        envWeight: 0.125
      })
      assert.strictEqual((yield* Effect.flip(store.status(run, 3)))._tag, "UnknownEnvironment")
      for (const envId of [0, 1, 2]) yield* store.disconnectEnvironment(run, envId)
      assert.strictEqual((yield* store.status(run, 0)).envWeight, 1)
    })
  )

  it.effect("reset ends a run: its name starts anew, what was consumed stays", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("x"))
      yield* store.submit(
        run,
        ["a", "b"].map((text) => submission(8, null, text))
      )
      const batch = (yield* claimed(store, run))!
      yield* store.reset(run)
      yield* store.reset(run)
      assert.isTrue(Option.isNone(yield* store.run(run)))
      assert.deepStrictEqual(yield* store.environments(run), [])
      assert.strictEqual((yield* store.summary(run)).queuedGroups, 0)
      assert.strictEqual((yield* Effect.flip(store.ack(batch)))._tag, "LeaseLost")
      assert.strictEqual(textOf(Option.getOrThrow(yield* store.latest(run))), "b")
      yield* store.registerRun(spec(run, 4))
      yield* store.start(run)
      assert.isUndefined(yield* claimed(store, run))
      yield* store.submit(run, [submission(4, null, "c")])
      const next = (yield* claimed(store, run))!
      assert.deepStrictEqual([next.step, next.groups.map(textOf)], [4, ["c"]])
      const { rows } = yield* reader.rollouts(run, { limit: 10 })
      assert.deepStrictEqual(
        rows.map(({ state, step }) => [state, step]),
        [
          ["leased", 4],
          ["consumed", 4]
        ]
      )
      const newest = yield* reader.rollouts(run, { limit: 10, newestRun: "true", stepFrom: 4, stepTo: 4 })
      assert.deepStrictEqual([newest.rows.map(({ state }) => state), newest.total], [["leased"], 1])
      yield* store.reset(run)
      const ended = yield* reader.rollouts(run, { limit: 10, newestRun: "true" })
      assert.deepStrictEqual([ended.rows.map(({ state }) => state), ended.total], [["consumed"], 1])
    })
  )

  it.effect("browses groups by page, environment, step and score", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(4)
      yield* store.registerEnvironment(run, environment("x"))
      yield* store.submit(
        run,
        Array.from({ length: 6 }, (_, i) => ({
          ...submission(4, i % 2 === 0 ? 0 : null, `${i}`),
          scores: [i, i, i, i]
        }))
      )
      yield* store.submit(run, [submission(1, 0, "odd")])
      const batch = (yield* claimed(store, run))!
      yield* store.ack(batch)
      yield* store.claim(run, trainer)
      const first = yield* reader.rollouts(run, { limit: 4 })
      const second = yield* reader.rollouts(run, { limit: 4, before: first.next! })
      assert.deepStrictEqual(
        [...first.rows, ...second.rows].map(({ environment, state, step }) => [environment, state, step]),
        [
          ["x_0", "buffered", null],
          [null, "queued", null],
          ["x_0", "queued", null],
          [null, "queued", null],
          ["x_0", "queued", null],
          [null, "leased", 5],
          ["x_0", "consumed", 4]
        ]
      )
      assert.isNull(second.next)
      const count = (filter: Partial<RolloutReader.RolloutFilter>) =>
        Effect.map(reader.rollouts(run, { limit: 10, ...filter }), ({ rows }) => rows.length)
      assert.strictEqual(yield* count({ environment: "x_0" }), 4)
      assert.strictEqual(yield* count({ stepFrom: 5 }), 1)
      assert.strictEqual(yield* count({ stepTo: 5 }), 2)
      assert.strictEqual(yield* count({ scoreFrom: 2, scoreTo: 3 }), 2)
      const row = first.rows[1]!
      assert.strictEqual(textOf(Option.getOrThrow(yield* reader.rollout(run, row.id))), "5")
      assert.isTrue(Option.isNone(yield* reader.rollout(run, "999999")))
      assert.strictEqual(textOf(Option.getOrThrow(yield* store.latest(run))), "5")
    })
  )

  it.effect("keeps an environment's state and a run's metrics", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      assert.isTrue(Option.isNone(yield* store.loadState(run, "x")))
      for (const step of [1, 2]) yield* store.saveState(run, "x", { step, value: { cursor: step, deep: [null, "ü"] } })
      assert.deepStrictEqual(Option.getOrThrow(yield* store.loadState(run, "x")), {
        step: 2,
        value: { cursor: 2, deep: [null, "ü"] }
      })
      for (const step of [1, 2, 3]) {
        yield* store.recordMetrics(run, { source: step === 2 ? "env" : "trainer", step, values: { loss: step / 10 } })
      }
      const { metrics } = yield* reader.metrics(run, { source: "trainer", fromStep: 2, limit: 10 })
      assert.deepStrictEqual(
        metrics.map(({ source, step, values }) => ({ source, step, values })),
        [{ source: "trainer", step: 3, values: { loss: 0.3 } }]
      )
      assert.strictEqual((yield* reader.metrics(run, { limit: 2 })).metrics.length, 2)
      const odd = { loss: Number.NaN, up: Number.POSITIVE_INFINITY, down: Number.NEGATIVE_INFINITY, good: 1 }
      yield* store.recordMetrics(run, { source: "trainer", step: 4, values: odd })
      const [last] = (yield* reader.metrics(run, { fromStep: 4, limit: 1 })).metrics
      assert.deepStrictEqual(last?.values, odd)
    })
  )

  it.effect("keeps the last settings of each source, the trainer's first, without secrets", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      assert.deepStrictEqual(yield* reader.settings(run), [])
      const trainer = { source: "trainer", kind: "trainer" } as const
      yield* store.recordSettings(run, { ...trainer, settings: { lr: 1 } })
      const settings = { zeta: 1, alpha: { deep: [null, "ü\0"] }, api_key: "sk-1", url: "http://me:pass@host/x" }
      yield* store.recordSettings(run, { source: "letters_0", kind: "environment", settings })
      yield* store.recordSettings(run, { ...trainer, settings: { lr: 2 } })
      const rows = yield* reader.settings(run)
      assert.deepStrictEqual(
        rows.map(({ kind, settings, source }) => [kind, source, JSON.stringify(settings)]),
        [
          ["trainer", "trainer", '{"lr":2}'],
          ["environment", "letters_0", '{"zeta":1,"alpha":{"deep":[null,"ü\u2400"]},"url":"http://***@host/x"}']
        ]
      )
    })
  )

  it.effect("tells of changes", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const heard = yield* store
        .changes(run)
        .pipe(Stream.take(1), Stream.runDrain, Effect.forkChild({ startImmediately: true }))
      yield* Effect.yieldNow
      yield* store.submit(run, [submission(8, null, "a")])
      yield* Fiber.join(heard)
    })
  )
}
