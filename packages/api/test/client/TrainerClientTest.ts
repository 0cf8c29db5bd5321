/** Tests every client's functions for trainers, regardless of the transport. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import * as SampleGroups from "../SampleGroups.ts"
import {
  type Client,
  type ClientTests,
  claimed,
  claimOne,
  keyed,
  type Kind,
  runOf,
  spec,
  started
} from "./ClientValues.ts"

const telemetryOf = (client: Client) => Effect.flatMap(client.telemetry, Effect.fromOption)

export const trainers = <R>(kind: Kind<R>, it: ClientTests<R>): void => {
  it.effect("tells what the trainer registered, and that nothing is before", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "info"))
      assert.deepStrictEqual(yield* client.runInfo, { batchSize: -1, maxTokenLength: -1 })
      assert.deepStrictEqual(yield* client.wandbInfo, { group: null, project: null })
      yield* client.registerRun(spec(runOf(kind, "info")))
      assert.deepStrictEqual(yield* client.runInfo, { batchSize: 4, maxTokenLength: 64 })
      assert.deepStrictEqual(yield* client.wandbInfo, { group: "group", project: "project" })
    })
  )

  it.effect("wakes a waiting trainer as soon as a batch can be made", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "wait"))
      const envId = yield* started(client, runOf(kind, "wait"))
      const waiting = yield* Effect.forkChild(client.claim({ ...claimed, wait: "5 minutes" }), {
        startImmediately: true
      })
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const batch = yield* Fiber.join(waiting)
      assert.isTrue(Option.isSome(batch))
    })
  )

  it.effect("answers without a batch when the wait is over", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "none"))
      yield* started(client, runOf(kind, "none"))
      assert.isTrue(Option.isNone(yield* client.claim({ ...claimed, wait: "50 millis" })))
    })
  )

  it.effect("lets environments wait at the trainer's bound, and go on when a batch was learned from", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "bound"))
      const name = runOf(kind, "bound")
      const envId = yield* started(client, name)
      const begun = (underWay: number) => client.begin(envId, { underWay, more: 100 })
      const begin = (underWay: number) => Effect.map(begun(underWay), ({ granted }) => granted)
      assert.isUndefined((yield* client.status(envId)).startable)
      assert.strictEqual(yield* begin(0), 100)
      yield* client.registerRun({ ...spec(name), waitAtStaleness: 0 })
      assert.strictEqual((yield* client.runInfo).waitAtStaleness, 0)
      assert.strictEqual(yield* begin(0), 2)
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const batch = yield* claimOne(client)
      assert.deepStrictEqual([yield* begin(0), (yield* client.status(envId)).startable], [0, 0])
      const notifications = yield* Stream.toPull(client.statusChanges(envId))
      assert.strictEqual((yield* notifications)[0].startable, 0)
      yield* client.trained(batch, 3)
      assert.strictEqual((yield* notifications)[0].startable, 4)
      assert.deepStrictEqual(yield* begun(0), { granted: 2, policyVersion: 3 })
      const other = { ...batch, leaseToken: crypto.randomUUID() }
      assert.strictEqual((yield* Effect.flip(client.trained(other))).reason, "leaseLost")
    })
  )

  it.effect("gives a batch that was handed back to the next, at once", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "nack"))
      const envId = yield* started(client, runOf(kind, "nack"))
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const first = yield* claimOne(client)
      assert.isTrue(Option.isNone(yield* client.claim(claimed)))
      const waiting = yield* Effect.forkChild(client.claim({ ...claimed, wait: "5 minutes" }), {
        startImmediately: true
      })
      yield* client.nack(first)
      const second = Option.getOrThrow(yield* Fiber.join(waiting))
      assert.strictEqual(second.id, first.id)
      assert.strictEqual(second.step, first.step)
      assert.strictEqual(second.deliveries, 2)
      assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
      yield* client.ack(second)
    })
  )

  it.effect("gives a batch whose lease ran out to the next, and refuses the first owner's ack", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "lease"))
      const envId = yield* started(client, runOf(kind, "lease"))
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const first = yield* Effect.flatMap(client.claim({ ...claimed, lease: "40 millis" }), Effect.fromOption)
      const second = yield* Effect.eventually(claimOne(client))
      assert.strictEqual(second.id, first.id)
      assert.strictEqual(second.deliveries, 2)
      assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
      yield* client.ack(second)
      assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
    })
  )

  it.effect("acknowledges again with the same token, as when the first answer was lost", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "ack-again"))
      const envId = yield* started(client, runOf(kind, "ack-again"))
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const batch = yield* claimOne(client)
      yield* client.ack(batch)
      yield* client.ack(batch)
      const other = { ...batch, leaseToken: crypto.randomUUID() }
      assert.strictEqual((yield* Effect.flip(client.ack(other))).reason, "leaseLost")
      assert.strictEqual((yield* Effect.flip(client.nack(batch))).reason, "leaseLost")
      assert.isTrue(Option.isNone(yield* client.claim(claimed)))
    })
  )

  it.effect("makes a lease last longer, as long as nobody else has the batch", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "extend"))
      const envId = yield* started(client, runOf(kind, "extend"))
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const first = yield* Effect.flatMap(client.claim({ ...claimed, lease: "1 millis" }), Effect.fromOption)
      yield* client.extend(first, "1 hour")
      // After the first lease: no other trainer gets it.
      assert.isTrue(Option.isNone(yield* client.claim({ ...claimed, wait: "20 millis" })))
      yield* client.extend(first, "1 millis")
      const second = yield* Effect.eventually(claimOne(client))
      assert.strictEqual(second.id, first.id)
      assert.strictEqual((yield* Effect.flip(client.extend(first, "1 minute"))).reason, "leaseLost")
      yield* client.ack(second)
      assert.strictEqual((yield* Effect.flip(client.extend(second, "1 minute"))).reason, "leaseLost")
    })
  )

  it.effect("records metrics", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "metrics"))
      yield* started(client, runOf(kind, "metrics"))
      yield* (yield* telemetryOf(client)).recordMetrics({
        source: "trainer",
        step: 1,
        values: { loss: 0.5, kl: Number.NaN, "reward.mean": 1 }
      })
    })
  )

  it.effect("records what the trainer computed of its batch, and of no other", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "logprobs"))
      const envId = yield* started(client, runOf(kind, "logprobs"))
      yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
      const { id, leaseToken } = yield* claimOne(client)
      const { recordLogprobs } = yield* telemetryOf(client)
      const record = {
        leaseToken,
        policyVersion: 3,
        rows: [{ group: 1, sequence: 0, from: 2, logprobs: Float32Array.of(-0.5, Number.NaN) }]
      }
      yield* recordLogprobs(id, record)
      yield* recordLogprobs(id, record)
      const other = { ...record, leaseToken: crypto.randomUUID() }
      assert.strictEqual((yield* Effect.flip(recordLogprobs(id, other))).reason, "leaseLost")
    })
  )

  it.effect("says of a run nobody registered that it is not there", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "nobody"))
      assert.strictEqual((yield* Effect.flip(client.claim(claimed))).reason, "notFound")
      assert.strictEqual((yield* Effect.flip(client.status(0))).reason, "notFound")
    })
  )
}
