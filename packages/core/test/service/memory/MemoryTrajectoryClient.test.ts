import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryTrajectoryClient from "../../../src/service/memory/MemoryTrajectoryClient.ts"
import { claim, group, itemOf } from "../../rollout/RolloutTest.ts"

const spec = { desiredName: "a", weight: 1, groupSize: 2, maxTokenLength: 10, minBatchAllocation: null }
const submit = (client: ReturnType<typeof MemoryTrajectoryClient.make>, sizes: ReadonlyArray<number>) =>
  client.submit(
    0,
    sizes.map((size, index) => ({ key: `${index}`, group: group(index, size) }))
  )

describe("MemoryTrajectoryClient", () => {
  it.effect("makes batches of exactly the batch size from any sizes, oldest first", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      yield* client.registerEnvironment(spec)
      yield* submit(client, [3, 4, 3, 2, 4, 1])
      assert.deepStrictEqual((yield* claim(client))?.groups.map(itemOf), [0, 1, 5])
      assert.strictEqual(yield* claim(client), undefined)
      assert.deepStrictEqual((yield* submit(client, [3]))[0], { status: "duplicate" })
      yield* client.submit(0, [{ key: "x", group: group(9, 6) }])
      const batch = yield* claim(client)
      assert.deepStrictEqual(batch?.groups.map(itemOf), [3, 9])
      assert.strictEqual(batch?.step, 2)
    })
  )

  it.effect("keeps a share of the batch for whoever is promised one", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      yield* client.registerEnvironment(spec)
      yield* client.registerEnvironment({ ...spec, desiredName: "b", minBatchAllocation: 0.5 })
      yield* submit(client, [2, 2, 2, 2])
      yield* client.submit(
        1,
        [7, 8, 9].map((item) => ({ key: `b${item}`, group: group(item) }))
      )
      assert.deepStrictEqual((yield* claim(client))?.groups.map(itemOf), [0, 1, 7, 8])
    })
  )

  it.effect("hands a batch to the next claimer when its lease runs out, and takes no ack from the first", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      yield* client.registerEnvironment(spec)
      yield* submit(client, [2])
      const options = { owner: "trainer", wait: 0, lease: "1 minute" } as const
      const first = Option.getOrThrow(yield* client.claim(options))
      yield* TestClock.adjust("2 minutes")
      const second = Option.getOrThrow(yield* client.claim(options))
      assert.strictEqual(second.id, first.id)
      assert.strictEqual(second.deliveries, 2)
      assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
      yield* client.nack(second)
      const third = Option.getOrThrow(yield* client.claim(options))
      yield* client.ack(third)
      yield* client.ack(third)
      assert.strictEqual((yield* Effect.flip(client.ack(second))).reason, "leaseLost")
      assert.strictEqual(yield* claim(client), undefined)
    })
  )

  it.effect("makes a lease last longer while nobody else has the batch", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      yield* client.registerEnvironment(spec)
      yield* submit(client, [2])
      const options = { owner: "trainer", wait: 0, lease: "1 minute" } as const
      const first = Option.getOrThrow(yield* client.claim(options))
      yield* TestClock.adjust("50 seconds")
      yield* client.extend(first, "1 minute")
      yield* TestClock.adjust("59 seconds")
      assert.isTrue(Option.isNone(yield* client.claim(options)))
      yield* TestClock.adjust("1 second")
      const second = Option.getOrThrow(yield* client.claim(options))
      assert.strictEqual(second.id, first.id)
      assert.strictEqual((yield* Effect.flip(client.extend(first, "1 minute"))).reason, "leaseLost")
    })
  )

  it.effect("pushes the status when it changes, and waits for a batch no longer than told", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      yield* client.registerEnvironment(spec)
      const sizes = yield* client.statusChanges(0).pipe(
        Stream.map(({ queueSize }) => queueSize),
        Stream.take(2),
        Stream.runCollect,
        Effect.forkChild
      )
      yield* TestClock.adjust(1)
      yield* submit(client, [2])
      yield* TestClock.adjust(1)
      const waiting = yield* Effect.forkChild(client.claim({ owner: "t", wait: "10 seconds", lease: "1 minute" }))
      yield* TestClock.adjust("9 seconds")
      yield* client.submit(0, [{ key: "late", group: group(7) }])
      assert.isTrue(Option.isSome(yield* Fiber.join(waiting)))
      assert.deepStrictEqual(yield* Fiber.join(sizes), [0, 1])
    })
  )
})
