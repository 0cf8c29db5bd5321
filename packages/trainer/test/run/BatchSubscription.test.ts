import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { type Batch, MemoryTrajectoryClient, type TrajectoryClient } from "@atropos/core"
import { Clock, Effect, Fiber, FileSystem, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as InputOutput from "../../../core/test/base/InputOutput.ts"
import * as LeaseJournal from "../../src/checkpoint/LeaseJournal.ts"
import * as BatchSubscription from "../../src/run/BatchSubscription.ts"

const leaseSeconds = 60
const claimed = { owner: "another", wait: 0, lease: "60 seconds" } as const

/** A service with this many batches waiting; batch i has the score i. */
const serviceWith = Effect.fnUntraced(function* (batches: number) {
  const client = MemoryTrajectoryClient.make({ batchSize: 1, startingStep: 4 })
  const environment = yield* client.registerEnvironment({
    desiredName: "test",
    weight: 1,
    groupSize: 1,
    maxTokenLength: 8,
    minBatchAllocation: null
  })
  const { envId } = Option.getOrThrow(environment)
  const groups = Array.from({ length: batches }, (_, i) => ({
    key: `key-${i}`,
    group: { tokens: [Int32Array.of(1, 2)], masks: [Uint8Array.of(0, 1)], scores: Float64Array.of(i) }
  }))
  yield* client.submit(envId, groups)
  return client
})

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const deliveriesOf = Effect.fnUntraced(function* (
  client: TrajectoryClient.TrajectoryClient,
  options: Partial<BatchSubscription.Options> = {}
) {
  return yield* BatchSubscription.make({
    client,
    owner: "trainer",
    leaseSeconds,
    folder: options.folder ?? (yield* folder),
    nextStep: Option.some(5),
    prefetch: 0,
    isSettled: () => false,
    ...options
  })
})

const take = (deliveries: BatchSubscription.BatchSubscription, count: number) =>
  deliveries.batches.pipe(Stream.take(count), Stream.runCollect)

/** What the fiber ends with; time passes by the second, and files are written meanwhile. */
const joinAsTimePasses = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>, everySecond = Effect.void) {
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust("1 second")
    yield* everySecond
    yield* InputOutput.atRest(20)
  }
  return yield* Fiber.join(fiber)
})

const stepsOf = (batches: ReadonlyArray<Batch.Batch>) => batches.map(({ step }) => step)

const claimStep = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.map(client.claim(claimed), (batch) => Option.getOrUndefined(Option.map(batch, ({ step }) => step)))

layer(NodeServices.layer)("BatchSubscription", (it) => {
  it.effect("keeps batches leased until they are settled, however long that takes", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(2)
      const deliveries = yield* deliveriesOf(client)
      const [first, second] = yield* take(deliveries, 2)
      for (let i = 0; i < 12; i++) yield* TestClock.adjust("20 seconds")
      assert.isUndefined(yield* claimStep(client))
      yield* deliveries.settle([first!])
      const error = yield* Effect.flip(client.nack(first!))
      assert.strictEqual(error.reason, "leaseLost")
      // The other one is still with us.
      yield* client.extend(second!, "1 minute")
    })
  )

  it.effect("gives back what is not settled when its scope closes", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(3)
      const target = yield* folder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const deliveries = yield* deliveriesOf(client, { folder: target })
          const [first] = yield* take(deliveries, 3)
          yield* deliveries.settle([first!])
        })
      )
      assert.deepStrictEqual([yield* claimStep(client), yield* claimStep(client)], [6, 7])
      assert.isUndefined(yield* claimStep(client))
      assert.deepStrictEqual(Option.getOrThrow(yield* LeaseJournal.read(target)).leases, [])
    })
  )

  it.effect("writes down what it holds, for a successor", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(2)
      const target = yield* folder
      yield* LeaseJournal.write(target, { firstStep: 5, leases: [] })
      const deliveries = yield* deliveriesOf(client, { folder: target })
      const batches = yield* take(deliveries, 2)
      assert.deepStrictEqual(Option.getOrThrow(yield* LeaseJournal.read(target)), {
        firstStep: 5,
        leases: batches.map(({ id, leaseToken, step }) => ({ id, leaseToken, step }))
      })
    })
  )

  it.effect("hands out a dead predecessor's batches at once and in order, and acknowledges those it had saved", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(4)
      const target = yield* folder
      const leases = yield* Effect.forEach([5, 6, 7], () => Effect.flatMap(client.claim(claimed), Effect.fromOption))
      yield* LeaseJournal.write(target, {
        firstStep: 5,
        leases: leases.map(({ id, leaseToken, step }) => ({ id, leaseToken, step }))
      })
      const deliveries = yield* deliveriesOf(client, {
        folder: target,
        nextStep: Option.some(6),
        isSettled: ({ step }) => step === 5
      })
      const batches = yield* take(deliveries, 3)
      assert.deepStrictEqual(stepsOf(batches), [6, 7, 8])
      assert.deepStrictEqual(
        batches.map(({ deliveries }) => deliveries),
        [2, 2, 1]
      )
      assert.strictEqual((yield* Effect.flip(client.extend(leases[0]!, "1 minute"))).reason, "leaseLost")
    })
  )

  it.effect("waits for a batch that was claimed and never written down, for as long as its lease can last", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(3)
      yield* client.claim(claimed)
      const deliveries = yield* deliveriesOf(client)
      const taking = yield* Effect.forkChild(take(deliveries, 3), { startImmediately: true })
      assert.deepStrictEqual(stepsOf(yield* joinAsTimePasses(taking)), [5, 6, 7])
      assert.isAtLeast(yield* Clock.currentTimeMillis, leaseSeconds * 1000)
    })
  )

  it.effect("goes on without a batch that another trainer keeps", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(3)
      const kept = yield* Effect.flatMap(client.claim(claimed), Effect.fromOption)
      const deliveries = yield* deliveriesOf(client)
      const taking = yield* Effect.forkChild(take(deliveries, 2), { startImmediately: true })
      const extend = Effect.orDie(client.extend(kept, "1 minute"))
      assert.deepStrictEqual(stepsOf(yield* joinAsTimePasses(taking, extend)), [6, 7])
    })
  )

  it.effect("goes on over a batch that is gone for good, and in order behind it", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(4)
      // As the service drops one whose groups are lost.
      yield* client.ack(yield* Effect.flatMap(client.claim(claimed), Effect.fromOption))
      const deliveries = yield* deliveriesOf(client)
      const taking = yield* Effect.forkChild(take(deliveries, 3), { startImmediately: true })
      assert.deepStrictEqual(stepsOf(yield* joinAsTimePasses(taking)), [6, 7, 8])
    })
  )

  it.effect("ends with the service's reason where it refuses", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make()
      const deliveries = yield* deliveriesOf(client)
      const error = yield* Effect.flip(take(deliveries, 1))
      assert.strictEqual(error.reason, "service")
      assert.include(error.message, "no run is registered")
    })
  )

  it.effect("claims no batch before it is asked for, unless told to", () =>
    Effect.gen(function* () {
      const client = yield* serviceWith(3)
      const deliveries = yield* deliveriesOf(client)
      yield* deliveries.batches.pipe(
        Stream.take(1),
        Stream.runForEach(() => Effect.map(claimStep(client), (step) => assert.strictEqual(step, 6)))
      )
    })
  )

  it.effect.each([1, 2, 3])("claims %d batches ahead where it is told", (prefetch) =>
    Effect.gen(function* () {
      const client = yield* serviceWith(6)
      const target = yield* folder
      const deliveries = yield* deliveriesOf(client, { prefetch, folder: target })
      const held = Effect.map(LeaseJournal.read(target), (journal) => Option.getOrThrow(journal).leases.length)
      yield* deliveries.batches.pipe(
        Stream.take(1),
        Stream.runForEach(() => TestClock.withLive(Effect.repeat(held, { until: (count) => count === prefetch + 1 })))
      )
      assert.strictEqual(yield* claimStep(client), 5 + prefetch + 1)
    })
  )
})
