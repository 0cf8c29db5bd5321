/** Tests the read functions for the viewer other than groups: runs, metrics, environments, batches. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as SampleGroups from "../SampleGroups.ts"
import { chats, chatSubmission, indexed, search } from "./ChatGroups.ts"
import { environment, spec, started, trainer, type StoreTests } from "./StoreValues.ts"

const { RolloutReader: Reader } = RolloutReader

const report = {
  running: 3,
  unsent: 1,
  itemsPerMinute: 12.5,
  failures: 2,
  lastError: { at: 5, message: "no" },
  servers: [
    {
      server: "http://a",
      split: "train" as const,
      healthy: true,
      inFlight: 4,
      latencyMean: 0.5,
      latencyP95: null,
      tokensPerSecond: 90,
      failures: 0
    }
  ]
}

export const readings = (it: StoreTests): void => {
  it.effect("lists runs by what happened in them last, ended ones at the end", () =>
    Effect.gen(function* () {
      const { reader, run: first, store } = yield* started()
      const { run: second } = yield* started()
      const { run: third } = yield* started()
      const ours = [first, second, third]
      const listed = Effect.map(reader.runs, (all) => all.map(({ name }) => name).filter((name) => ours.includes(name)))
      yield* TestClock.adjust("1 second")
      yield* store.recordMetrics(first, { source: "trainer", step: 1, values: { loss: 1 } })
      assert.deepStrictEqual(yield* listed, [first, third, second])
      yield* TestClock.adjust("1 second")
      yield* store.submit(second, [chatSubmission(SampleGroups.plain(2))])
      assert.deepStrictEqual(yield* listed, [second, first, third])
      yield* TestClock.adjust("1 second")
      yield* store.registerEnvironment(third, environment("x", { groupSize: 2 }))
      assert.deepStrictEqual(yield* listed, [third, second, first])
      yield* store.reset(third)
      assert.deepStrictEqual(yield* listed, [second, first, third])
    })
  )

  it.effect("keeps a run that has ended readable, until its name is taken and beyond", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(2)
      yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
      yield* store.submit(run, [chatSubmission(chats("Old?", "a", "b"), { envId: 0 })])
      yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
      yield* store.submit(run, [chatSubmission(chats("Never used?", "a", "b"), { envId: 0 })])
      yield* store.recordMetrics(run, { source: "trainer", step: 1, values: { loss: 1 } })
      yield* store.recordPieces(run, new Map([[7, "old"]]))
      yield* indexed(run)
      yield* store.reset(run)
      const listed = Effect.map(reader.runs, (all) => all.filter((one) => one.name === run).map(({ ended }) => ended))
      assert.deepStrictEqual(yield* listed, [true])
      const { rows, total } = yield* reader.rollouts(run, { limit: 10 })
      assert.deepStrictEqual([rows.map(({ preview, state }) => [preview, state]), total], [[["Old?", "consumed"]], 1])
      assert.strictEqual((yield* search(run, "old")).total, 1)
      assert.strictEqual((yield* reader.metrics(run, { limit: 10 })).metrics.length, 1)
      assert.strictEqual((yield* reader.environments(run)).length, 1)
      assert.strictEqual((yield* reader.batches(run)).length, 1)
      yield* store.registerRun(spec(run, 2))
      assert.deepStrictEqual(yield* listed, [false])
      assert.strictEqual((yield* reader.rollouts(run, { limit: 10 })).total, 1)
      assert.strictEqual((yield* reader.metrics(run, { limit: 10 })).metrics.length, 0)
      yield* store.recordPieces(run, new Map([[8, "new"]]))
      assert.deepStrictEqual(
        yield* reader.pieces(run),
        new Map([
          [7, "old"],
          [8, "new"]
        ])
      )
    })
  )

  it.effect("finds the groups of an item, of whatever size and step, and tells whose they are", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
      // Into the queue and into the buffer, which are separate code paths.
      const sent = [
        [2, "sum"],
        [1, "sum"],
        [2, "word"],
        [2, undefined]
      ] as const
      for (const [size, itemId] of sent) {
        yield* store.submit(run, [
          chatSubmission(SampleGroups.plain(size), { envId: 0, ...(itemId !== undefined && { itemId }) })
        ])
      }
      const found = (item?: string) =>
        Effect.map(reader.rollouts(run, { limit: 10, ...(item !== undefined && { item }) }), ({ rows, total }) => ({
          sizes: rows.map(({ sequences }) => sequences),
          ids: rows.map(({ itemId }) => itemId),
          total
        }))
      assert.deepStrictEqual(yield* found("sum"), { sizes: [1, 2], ids: ["sum", "sum"], total: 2 })
      assert.deepStrictEqual(yield* found("word"), { sizes: [2], ids: ["word"], total: 1 })
      assert.deepStrictEqual(yield* found("nobody's"), { sizes: [], ids: [], total: 0 })
      assert.deepStrictEqual((yield* found()).ids, [null, "word", "sum", "sum"])
    })
  )

  it.effect("pages through metrics, oldest first", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      for (let step = 1; step <= 5; step++) {
        yield* store.recordMetrics(run, { source: step % 2 === 0 ? "env" : "trainer", step, values: { x: step } })
      }
      const first = yield* reader.metrics(run, { limit: 2 })
      const second = yield* reader.metrics(run, { limit: 2, after: first.next! })
      const third = yield* reader.metrics(run, { limit: 2, after: second.next! })
      assert.deepStrictEqual(
        [first, second, third].map(({ metrics }) => metrics.map(({ step }) => step)),
        [[1, 2], [3, 4], [5]]
      )
      assert.isNull(third.next)
      const { metrics, next } = yield* reader.metrics(run, { limit: 10, source: "trainer", fromStep: 3 })
      assert.deepStrictEqual(
        metrics.map(({ source, step, values }) => [source, step, values["x"]]),
        [
          ["trainer", 3, 3],
          ["trainer", 5, 5]
        ]
      )
      assert.isNull(next)
    })
  )

  it.effect("tells metrics as they come: each once, in order, none left out, however many write", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      const record = (step: number) => store.recordMetrics(run, { source: "trainer", step, values: { x: step } })
      yield* record(0)
      const [kept] = (yield* reader.metrics(run, { limit: 1 })).metrics
      const follow = (after: string | undefined, count: number) =>
        // The start is fixed when the stream is created, before it is run.
        Effect.flatMap(reader.metricsToCome(run, after), (rows) =>
          rows.pipe(
            Stream.flattenIterable,
            Stream.take(count),
            Stream.runCollect,
            Waits.named(`${count} rows of metrics`),
            TestClock.withLive,
            Effect.forkChild({ startImmediately: true })
          )
        )
      const fromNow = yield* follow(undefined, 40)
      const fromStart = yield* follow("0", 41)
      const fromRow = yield* follow(kept!.id, 40)
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, i) => i + 1),
        record,
        { concurrency: 8 }
      )
      const seen = yield* Effect.forEach([fromNow, fromStart, fromRow], (fiber) => Fiber.join(fiber))
      const recorded = (yield* reader.metrics(run, { limit: 100 })).metrics
      assert.deepStrictEqual(seen[1], recorded)
      assert.deepStrictEqual(seen[0], recorded.slice(1))
      assert.deepStrictEqual(seen[2], recorded.slice(1))
    })
  )

  it.effect("shows environments with their reports, their part of the batches, and how fast they are", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(4)
      yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
      yield* store.registerEnvironment(run, environment("y", { groupSize: 2 }))
      const fresh = yield* reader.environments(run)
      assert.deepStrictEqual(
        fresh.map(({ name, report, rolloutsPerMinute, share }) => [name, report, share, rolloutsPerMinute]),
        [
          ["x_0", null, null, 0],
          ["y_0", null, null, 0]
        ]
      )
      const send = (envId: number) => store.submit(run, [chatSubmission(SampleGroups.plain(2), { envId })])
      for (const envId of [0, 0, 0, 1]) yield* send(envId)
      for (let i = 0; i < 2; i++) yield* store.claim(run, trainer)
      yield* store.recordReport(run, 0, { ...report, running: 9 })
      yield* store.recordReport(run, 0, report)
      const seen = yield* reader.environments(run)
      assert.deepStrictEqual(
        seen.map(({ rolloutsPerMinute, share }) => [share, rolloutsPerMinute]),
        [
          [0.75, 6],
          [0.25, 2]
        ]
      )
      const { at, ...told } = seen[0]!.report!
      assert.deepStrictEqual(told, report)
      assert.isAtLeast(at, 0)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* reader.environments(run))[0]!.rolloutsPerMinute, 0)
      const error = yield* Effect.flip(store.recordReport(run, 2, report))
      assert.strictEqual(error._tag, "UnknownEnvironment")
    })
  )

  it.effect("shows batches and who has them", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(2)
      for (let i = 0; i < 4; i++)
        yield* store.submit(run, [chatSubmission(SampleGroups.plain(1)), chatSubmission(SampleGroups.plain(1))])
      const claim = Effect.map(store.claim(run, trainer), Option.getOrThrow)
      const acked = yield* claim
      yield* store.ack(acked)
      const returned = yield* claim
      const leased = yield* store.claim(run, { ...trainer, owner: "another", lease: "1 hour" })
      yield* claim
      yield* store.nack(returned)
      yield* TestClock.adjust("2 minutes")
      const batches = yield* reader.batches(run)
      assert.deepStrictEqual(
        batches.map(({ groups, leaseOwner, sequences, state, step }) => [step, state, leaseOwner, groups, sequences]),
        [
          [7, "free", "trainer", 2, 2],
          [6, "leased", "another", 2, 2],
          [5, "free", "trainer", 2, 2],
          [4, "acked", "trainer", 2, 2]
        ]
      )
      assert.strictEqual(batches[1]!.leaseUntil, Option.getOrThrow(leased).leaseUntil)
      assert.isNull(batches[3]!.leaseUntil)
      assert.isNotNull(batches[3]!.ackedAt)
    })
  )

  it.effect("says of a run that never was that there is none", () =>
    Effect.gen(function* () {
      const reader = yield* Reader
      const reads: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        reader.rollouts("nobody", { limit: 1 }),
        reader.rollout("nobody", "1"),
        reader.pieces("nobody"),
        reader.metrics("nobody", { limit: 1 }),
        reader.metricsToCome("nobody", undefined),
        reader.environments("nobody"),
        reader.settings("nobody"),
        reader.distribution("nobody", { measure: "score" }),
        reader.batches("nobody")
      ]
      for (const read of reads) assert.strictEqual((yield* Effect.flip(read))._tag, "UnknownRun")
    })
  )
}
