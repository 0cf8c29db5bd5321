/** Tests claims of every trajectory store: batches, their steps and their leases. */
import { assert } from "@effect/vitest"
import { Clock, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import { claimed, environment, started, submission, textOf, trainer, type StoreTests } from "./StoreValues.ts"

/** A trainer's logprobs of a sequence, from its fourth token on. */
const row = (group: number, sequence: number, ...logprobs: ReadonlyArray<number>) => ({
  group,
  sequence,
  from: 3,
  logprobs: Float32Array.from(logprobs)
})

export const claims = (it: StoreTests): void => {
  it.effect("keeps what the trainer of a batch computed of it: the last record, of whoever has the batch", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started()
      yield* store.submit(run, [submission(4, null, "a"), submission(4, null, "b")])
      const batch = (yield* claimed(store, run))!
      const trained = (group: number) =>
        Effect.map(reader.rollout(run, batch.groups[group]!.id), (found) => Option.getOrThrow(found).trained)
      assert.isUndefined(yield* trained(0))
      const { leaseToken } = batch
      const record = { leaseToken, policyVersion: 7, rows: [row(1, 2, -0.5, Number.NaN, -2), row(0, 0, -1)] }
      const kept = {
        policyVersion: 7,
        rows: [null, null, { from: 3, logprobs: Float32Array.of(-0.5, Number.NaN, -2) }, null]
      }
      for (const _ of [1, 2]) {
        yield* store.recordLogprobs(run, batch.id, record)
        assert.deepStrictEqual(yield* trained(1), kept)
      }
      yield* store.ack(batch)
      // Rows outside of the batch are ignored; the rest replaces everything recorded before.
      const again = { leaseToken, policyVersion: 8, rows: [row(1, 3, -4), row(1, 4, -5), row(2, 0, -6)] }
      yield* store.recordLogprobs(run, batch.id, again)
      assert.deepStrictEqual(yield* trained(1), {
        policyVersion: 8,
        rows: [null, null, null, { from: 3, logprobs: Float32Array.of(-4) }]
      })
      assert.isUndefined(yield* trained(0))
      for (const [wrongRun, id, token] of [
        [run, batch.id, randomUUID()],
        [run, "77777777", leaseToken],
        [run, "x", leaseToken],
        ["another", batch.id, leaseToken]
      ] as const) {
        const refused = yield* Effect.flip(store.recordLogprobs(wrongRun, id, { ...record, leaseToken: token }))
        assert.strictEqual(refused._tag, "LeaseLost")
      }
    })
  )

  it.effect("hands out what was submitted, oldest first, in steps that begin after the run's", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      for (let i = 0; i < 5; i++) {
        assert.deepStrictEqual(yield* store.submit(run, [submission(4, null, `${i}`)]), [{ status: "received" }])
      }
      const first = yield* claimed(store, run)
      const second = yield* claimed(store, run)
      assert.deepStrictEqual(
        [first, second].map((batch) => [batch?.step, batch?.deliveries, batch?.groups.map(textOf)]),
        [
          [4, 1, ["0", "1"]],
          [5, 1, ["2", "3"]]
        ]
      )
      assert.deepStrictEqual(first?.groups[0]?.scores, [0, 0.5, 1, 1.5])
      assert.isUndefined(yield* claimed(store, run))
      const summary = yield* store.summary(run)
      assert.deepInclude(summary, {
        currentStep: 5,
        queuedGroups: 1,
        queuedSequences: 4,
        leasedBatches: 2,
        stuck: []
      })
    })
  )

  it.effect("gives every group to exactly one of many claimers, and steps without gaps", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      const texts = Array.from({ length: 120 }, (_, i) => `${i}`)
      yield* Effect.forEach(texts, (text, i) => store.submit(run, [submission([2, 4, 6][i % 3]!, null, text)]), {
        concurrency: 16
      })
      const batches: Array<TrajectoryStore.ClaimedBatch> = []
      yield* Effect.forEach(
        Array.from({ length: 8 }, (_, i) => i),
        (i) =>
          Effect.gen(function* () {
            for (;;) {
              const batch = Option.getOrUndefined(yield* store.claim(run, { owner: `${i}`, lease: "60 seconds" }))
              if (batch === undefined) return
              batches.push(batch)
              yield* store.ack(batch)
            }
          }),
        { concurrency: "unbounded" }
      )
      for (const { groups } of batches) {
        assert.strictEqual(
          groups.reduce((sum, { sequences }) => sum + sequences, 0),
          8
        )
      }
      const left = yield* store.summary(run)
      assert.strictEqual(batches.length * 8 + left.queuedSequences, 480)
      // Some of the sixes may lack a two.
      assert.isAtLeast(batches.length, 50)
      assert.deepStrictEqual(
        batches.map(({ step }) => step).toSorted((a, b) => a - b),
        batches.map((_, i) => i + 4)
      )
      const handed = batches.flatMap(({ groups }) => groups.map(textOf))
      assert.strictEqual(new Set(handed).size, handed.length)
      assert.strictEqual(handed.length + left.queuedGroups, texts.length)
    })
  )

  it.effect("hands a batch to the next claimer when its lease runs out, and only then", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.submit(run, [submission(8, null, "a"), submission(8, null, "b")])
      const dead = (yield* claimed(store, run))!
      yield* store.claim(run, trainer)
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(yield* claimed(store, run))
      yield* TestClock.adjust("1 second")
      const again = (yield* claimed(store, run))!
      assert.deepStrictEqual([again.id, again.step, again.deliveries], [dead.id, 4, 2])
      assert.notStrictEqual(again.leaseToken, dead.leaseToken)
      assert.deepStrictEqual(again.groups.map(textOf), ["a"])
      assert.strictEqual((yield* Effect.flip(store.ack(dead)))._tag, "LeaseLost")
      yield* store.extendLease(again, "120 seconds")
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual((yield* claimed(store, run))?.step, 5)
      yield* store.ack(again)
      // The answer may have been lost: a repeated ack is harmless, and the batch stays acked.
      yield* store.ack(again)
      assert.strictEqual((yield* Effect.flip(store.ack(dead)))._tag, "LeaseLost")
      assert.strictEqual((yield* Effect.flip(store.nack(again)))._tag, "LeaseLost")
      assert.strictEqual((yield* Effect.flip(store.extendLease(again, "1 minute")))._tag, "LeaseLost")
      // A redelivery does not count as a step.
      assert.strictEqual((yield* store.summary(run)).currentStep, 5)
    })
  )

  it.effect("keeps a lease when the clock of this machine is set anew", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started(2)
      yield* store.submit(run, [submission(2, null, "leased")])
      const clock = yield* Clock.Clock
      const ahead = (millis: number): Clock.Clock =>
        // Everything else is the clock's own.
        Object.create(clock, {
          currentTimeMillisUnsafe: { value: () => clock.currentTimeMillisUnsafe() + millis },
          currentTimeMillis: { value: Effect.map(clock.currentTimeMillis, (now) => now + millis) }
        }) as Clock.Clock
      const held = Option.getOrThrow(yield* store.claim(run, trainer))
      for (const millis of [3_600_000, -3_600_000]) {
        yield* Effect.gen(function* () {
          assert.isTrue(Option.isNone(yield* store.claim(run, { ...trainer, owner: "another" })))
          assert.strictEqual((yield* store.summary(run)).leasedBatches, 1)
        }).pipe(Effect.provideService(Clock.Clock, ahead(millis)))
      }
      yield* store.ack(held)
    })
  )

  it.effect("hands a batch that was given back out first", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.submit(
        run,
        ["a", "b", "c"].map((text) => submission(8, null, text))
      )
      const first = (yield* claimed(store, run))!
      const second = (yield* claimed(store, run))!
      yield* store.nack(second)
      yield* store.nack(first)
      assert.strictEqual((yield* Effect.flip(store.nack(first)))._tag, "LeaseLost")
      const steps = []
      for (let i = 0; i < 3; i++) steps.push((yield* claimed(store, run))?.step)
      assert.deepStrictEqual(steps, [4, 5, 6])
      for (const leaseToken of ["", "not a token", randomUUID()]) {
        const error = yield* Effect.flip(store.ack({ id: first.id, leaseToken }))
        assert.strictEqual(error._tag, "LeaseLost")
      }
      assert.strictEqual((yield* Effect.flip(store.ack({ id: "x", leaseToken: randomUUID() })))._tag, "LeaseLost")
    })
  )

  it.effect("meets minimum shares, and lets nobody wait for a share that has no data", () =>
    Effect.gen(function* () {
      const { run, store } = yield* started()
      yield* store.registerEnvironment(run, environment("a", { minBatchAllocation: 0.5 }))
      yield* store.registerEnvironment(run, environment("b", { minBatchAllocation: 0.5 }))
      yield* store.submit(
        run,
        [0, 0, 0, 1].map((envId) => submission(4, envId, `${envId}`))
      )
      assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["0", "1"])
      assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["0", "0"])
    })
  )

  it.effect("carries payloads byte for byte, small and large, packed and JSON", () =>
    Effect.gen(function* () {
      const { reader, run, store } = yield* started(1)
      const sizes = [0, 1, 511, 512, 100_000, 3_000_000]
      const payloads = sizes.map((size, i) => ({
        format: i % 2 === 0 ? ("packed" as const) : ("json" as const),
        bytes: Uint8Array.from({ length: size }, (_, at) => (at * 31) % 251)
      }))
      yield* store.submit(
        run,
        payloads.map((payload) => ({ ...submission(1, null, ""), payload }))
      )
      for (const payload of payloads) {
        const { groups } = (yield* claimed(store, run))!
        assert.strictEqual(groups[0]!.payload.format, payload.format)
        assert.isTrue(Buffer.from(groups[0]!.payload.bytes).equals(payload.bytes))
        const stored = Option.getOrThrow(yield* reader.rollout(run, groups[0]!.id))
        assert.isTrue(Buffer.from(stored.payload.bytes).equals(payload.bytes))
      }
    })
  )
}
