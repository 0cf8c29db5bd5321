/** Tests submissions to every trajectory store: keys, odd sizes, unwritable groups. */
import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
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

export const submissions = (it: StoreTests): void => {
  it.effect("stores a key once, in one call, in several, and while others submit", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const group = submission(4, null, "once")
      assert.deepStrictEqual(yield* store.submit(run, [group, group]), [
        { status: "received" },
        { status: "duplicate" }
      ])
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? group : submission(4, null, `other ${i}`))),
        (one) => store.submit(run, [one]),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        outcomes.map(([outcome]) => outcome?.status),
        outcomes.map((_, i) => (i % 2 === 0 ? "duplicate" : "received"))
      )
      assert.strictEqual((yield* store.summary(run)).queuedGroups, 11)
    })
  )

  it.effect("takes a key of another run, and of the same one before its reset, for another group", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const group = submission(4, null, "mine")
      const received = [{ status: "received" as const }]
      assert.deepStrictEqual(yield* store.submit(run, [group]), received)
      const { run: other } = yield* started()
      assert.deepStrictEqual(yield* store.submit(other, [group]), received)
      assert.deepStrictEqual(yield* store.submit(other, [group]), [{ status: "duplicate" }])
      yield* store.reset(run)
      yield* store.registerRun(spec(run))
      yield* store.start(run)
      assert.deepStrictEqual(yield* store.submit(run, [group]), received)
      assert.deepStrictEqual(yield* store.submit(run, [group]), [{ status: "duplicate" }])
      assert.strictEqual((yield* store.summary(run)).queuedGroups, 1)
      assert.strictEqual((yield* store.summary(other)).queuedGroups, 1)
    })
  )

  it.effect("writes what was sent together with something that cannot be written", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      // The first is in flight while the others are gathered.
      const gathered = yield* Effect.forEach(
        Array.from({ length: 24 }, (_, i) => i),
        (i) => {
          const one = submission(2, null, `${i}`)
          return Effect.exit(store.submit(run, [i === 7 ? { ...one, tokens: 0.5 } : one]))
        },
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        gathered.map((exit) => exit._tag),
        gathered.map((_, i) => (i === 7 ? "Failure" : "Success"))
      )
      assert.strictEqual((yield* store.summary(run)).queuedGroups, 23)
    })
  )

  it.effect("combines the odd groups of others beside a group size that is never reached", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const register = (desiredName: string, groupSize: number) =>
        Effect.map(
          store.registerEnvironment(run, environment(desiredName, { groupSize })),
          (found) => Option.getOrThrow(found).envId
        )
      const greedy = yield* register("greedy", 2_147_483_647)
      const honest = yield* register("honest", 4)
      const outcomes = yield* Effect.forEach(
        [greedy, honest, greedy, honest],
        (envId, i) => store.submit(run, [submission(2, envId, `${i}`)]),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        outcomes.flat().map(({ status }) => status),
        ["buffered", "buffered", "buffered", "buffered"]
      )
      assert.strictEqual((yield* store.summary(run)).queuedGroups, 2)
    })
  )

  it.effect("buffers odd sizes until some add up, as the original", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("x"))
      const outcomes = []
      for (const [i, size] of [2, 3, 2, 8, 1, 3].entries()) {
        outcomes.push(...(yield* store.submit(run, [submission(size, 0, `${i}`)])))
      }
      assert.deepStrictEqual(
        outcomes.map((outcome) => outcome.status === "buffered" && outcome.bufferSize),
        [2, 5, 3, 11, 8, 11]
      )
      assert.deepStrictEqual(
        yield* store.submit(run, [submission(4, 0, "6"), submission(1, 0, "7"), submission(4, null, "8")]),
        [{ status: "received" }, { status: "buffered", bufferSize: 8 }, { status: "received" }]
      )
      // Queue: 0 and 2, then 1 and 4, then 6, then 5 and 7, then 8; the group of 8 waits.
      const batches = [yield* claimed(store, run), yield* claimed(store, run)]
      assert.deepStrictEqual(
        batches.map((batch) => batch?.groups.map(textOf)),
        [
          ["0", "2", "1", "4"],
          ["6", "5", "7"]
        ]
      )
      const { bufferedGroups, queuedGroups, stuck } = yield* store.summary(run)
      assert.deepStrictEqual([bufferedGroups, queuedGroups], [1, 1])
      assert.deepStrictEqual(
        stuck.map(({ count, envId, sequences }) => ({ count, envId, sequences })),
        [{ count: 1, envId: 0, sequences: 8 }]
      )
    })
  )

  it.effect("queues odd sizes as they are when they have waited a minute, and tells what cannot fill a batch", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("x"))
      yield* store.submit(run, [submission(3, 0, "a"), submission(3, 0, "b"), submission(9, 0, "c")])
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* store.summary(run)).bufferedGroups, 3)
      // Upkeep uses the database's time: advances the clock until it has run.
      const summary = yield* TestClock.adjust("1 second").pipe(
        Effect.andThen(store.summary(run)),
        Effect.repeat({ until: ({ queuedGroups }) => queuedGroups === 3 })
      )
      assert.deepStrictEqual([summary.bufferedGroups, summary.queuedGroups], [0, 3])
      assert.deepStrictEqual(
        new Map(summary.stuck.map(({ count, sequences }) => [sequences, count])),
        new Map([
          [3, 2],
          [9, 1]
        ])
      )
      assert.match(summary.stuck.find(({ sequences }) => sequences === 9)!.reason, /exceed the batch size 8/)
      assert.isUndefined(yield* claimed(store, run))
      yield* store.submit(run, [submission(2, null, "d")])
      assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["a", "b", "d"])
    })
  )

  it.effect("parks data that comes before its trainer, and serves it when the trainer registers", () =>
    Effect.gen(function* () {
      const store = yield* TrajectoryStore.TrajectoryStore
      const run = runName()
      yield* store.submit(run, [submission(8, null, "early")])
      assert.isFalse(Option.getOrThrow(yield* store.run(run)).registered)
      assert.strictEqual((yield* Effect.flip(store.claim(run, trainer)))._tag, "UnknownRun")
      assert.deepInclude(yield* store.registerRun(spec(run)), { registered: true, batchSize: 8, currentStep: 3 })
      assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["early"])
    })
  )
}
