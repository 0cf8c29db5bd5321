import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import {
  MemoryTrajectoryClient,
  type PackedLogprobs,
  type TelemetryClient,
  TrajectoryClient,
  TrajectoryError
} from "@atropos/core"
import { Deferred, Effect, Fiber, FileSystem, Layer, Option, References, Stream } from "effect"
import * as LeaseJournal from "../../src/checkpoint/LeaseJournal.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import type * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as Toy from "./ToyTraining.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const given = (savePath: string, more: Partial<TrainerSettings.TrainerFields>) =>
  Toy.settings(savePath, { batchSize: 4, trainingSteps: 4, ...more })

const train = Effect.fnUntraced(function* (
  client: TrajectoryClient.TrajectoryClient,
  settings: TrainerSettings.TrainerSettings
) {
  const trainer = yield* Toy.trainer(settings)
  return ServiceTraining.steps(trainer, { settings, owner: "test" }).pipe(
    Stream.provide(TrajectoryClient.context(client))
  )
})

/** The same service with somewhere to record what the trainer computed. */
const recording = (
  client: TrajectoryClient.TrajectoryClient,
  recordLogprobs: TelemetryClient.Telemetry["recordLogprobs"]
): TrajectoryClient.TrajectoryClient => ({
  ...client,
  telemetry: Effect.succeedSome({
    recordLogprobs,
    recordMetrics: () => Effect.void,
    recordSettings: () => Effect.void,
    recordPieces: () => Effect.void,
    recordReport: () => Effect.void,
    recordEvaluation: () => Effect.void
  })
})

const nextStep = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.map(client.claim({ owner: "another", wait: 0, lease: "1 minute" }), (batch) =>
    Option.getOrUndefined(Option.map(batch, ({ step }) => step))
  )

const layerTest = Layer.mergeAll(SharedOrt.layer, NodeServices.layer, Layer.succeed(References.MinimumLogLevel, "None"))

layer(layerTest, { excludeTestServices: true })("ServiceTraining", (it) => {
  it.effect.each([0, 1, 3])("trains on each batch once and leaves the rest, claiming %d ahead", (prefetch) =>
    Effect.gen(function* () {
      const client = yield* Toy.serviceWith(9)
      const metrics = yield* Effect.flatMap(train(client, given(yield* folder, { prefetch })), Stream.runCollect)
      assert.deepStrictEqual(
        metrics.map(({ batchId, step }) => [step, batchId]),
        [1, 2, 3, 4].map((step) => [step, `batch-${step}`])
      )
      // What was claimed ahead was given back.
      assert.strictEqual(yield* nextStep(client), 5)
    })
  )

  it.effect("tells of every batch before its step, and what is tried meanwhile changes no bit of the weights", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const weightsOf = Effect.fnUntraced(function* (isTried: boolean) {
        const settings = given(yield* folder, {})
        const trainer = yield* Toy.trainer(settings)
        const seen: Array<string> = []
        const tried = isTried ? trainer.measure({ tokens: 12, trained: 7, sequences: 5 }) : Effect.succeed(0)
        yield* tried
        const steps = ServiceTraining.steps(trainer, {
          settings,
          owner: "test",
          onBatch: ({ id }) => Effect.map(tried, () => void seen.push(id))
        })
        yield* steps.pipe(
          Stream.tap(({ batchId }) => Effect.sync(() => assert.strictEqual(seen.at(-1), batchId))),
          Stream.runDrain,
          Effect.provideContext(TrajectoryClient.context(yield* Toy.serviceWith(4)))
        )
        assert.lengthOf(seen, 4)
        return yield* fs.readFile(`${settings.trainer.savePath}/step_4/weights.bin`)
      })
      assert.deepStrictEqual(yield* weightsOf(true), yield* weightsOf(false))
    })
  )

  it.effect("tells the service what it computed of each batch, as many tokens as the settings say", () =>
    Effect.gen(function* () {
      const told = new Map<string, PackedLogprobs.RecordedLogprobs>()
      const take = (batchId: string, record: PackedLogprobs.RecordedLogprobs) =>
        Effect.sync(() => void told.set(batchId, record))
      const settings = given(yield* folder, { recordLogprobs: 7 })
      yield* Effect.flatMap(train(recording(yield* Toy.serviceWith(4), take), settings), Stream.runDrain)
      assert.deepStrictEqual([...told.keys()].sort(), ["batch-1", "batch-2", "batch-3", "batch-4"])
      for (const { leaseToken, rows } of told.values()) {
        assert.notStrictEqual(leaseToken, "")
        assert.strictEqual(
          rows.reduce((sum, { logprobs }) => sum + logprobs.length, 0),
          7
        )
        for (const { from, logprobs } of rows) {
          assert.strictEqual(from, 2)
          assert.isTrue(logprobs.every((logprob) => logprob < 0 && logprob > -20))
        }
      }
      assert.deepStrictEqual(
        [...told.values()].map(({ policyVersion }) => policyVersion),
        [0, 1, 2, 3]
      )
    })
  )

  it.effect.each(["notFound", "unreachable", "leaseLost"] as const)(
    "trains on where the service does not take what it computed: %s",
    (reason) =>
      Effect.gen(function* () {
        let asked = 0
        const refuse = () =>
          Effect.suspend(() => {
            asked++
            return Effect.fail(new TrajectoryError.TrajectoryError({ reason, message: "as it was asked to" }))
          })
        const client = recording(yield* Toy.serviceWith(4), refuse)
        const metrics = yield* Effect.flatMap(train(client, given(yield* folder, {})), Stream.runCollect)
        assert.lengthOf(metrics, 4)
        if (reason === "notFound") assert.strictEqual(asked, 1)
        else assert.isAtLeast(asked, 1)
      })
  )

  it.effect("records nothing where it is told so", () =>
    Effect.gen(function* () {
      const client = recording(yield* Toy.serviceWith(4), () => Effect.die("nothing was to be recorded"))
      const settings = given(yield* folder, { recordLogprobs: 0 })
      assert.lengthOf(yield* Effect.flatMap(train(client, settings), Stream.runCollect), 4)
    })
  )

  it.effect("registers the run with what the environments need to know", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make()
      const settings = given(yield* folder, { seqLen: 12, wandbProject: "toys" })
      const stream = yield* train(client, settings)
      const running = yield* Effect.forkChild(Stream.runDrain(stream))
      const registered = Effect.map(client.runInfo, ({ batchSize }) => batchSize > 0)
      yield* Effect.repeat(registered, { until: (is) => is })
      assert.deepStrictEqual(yield* client.runInfo, { batchSize: 4, maxTokenLength: 12 })
      assert.strictEqual((yield* client.wandbInfo).project, "toys")
      yield* Fiber.interrupt(running)
      // A trainer that dies now has a successor that knows which batch comes first.
      assert.deepStrictEqual(
        Option.map(yield* LeaseJournal.read(settings.trainer.savePath), ({ firstStep }) => firstStep),
        Option.some(1)
      )
    })
  )

  it.effect("saves and acknowledges what it trained on when it is interrupted, and gives back the rest", () =>
    Effect.gen(function* () {
      const client = yield* Toy.serviceWith(4)
      const target = yield* folder
      const settings = given(target, { checkpointInterval: 0, prefetch: 1 })
      const reached = yield* Deferred.make<void>()
      const training = Effect.flatMap(train(client, settings), (stream) =>
        Stream.runForEach(stream, ({ step }) =>
          step < 2 ? Effect.void : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
        )
      )
      const running = yield* Effect.forkChild(Effect.scoped(training))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* (yield* Toy.trainer(settings)).step, 2)
      assert.deepStrictEqual(
        [yield* nextStep(client), yield* nextStep(client), yield* nextStep(client)],
        [3, 4, undefined]
      )
    })
  )

  it.effect("acknowledges what a predecessor had saved and not yet acknowledged, even if nothing is left to do", () =>
    Effect.gen(function* () {
      const client = yield* Toy.serviceWith(2)
      const target = yield* folder
      const settings = given(target, { trainingSteps: 2 })
      const leases = yield* Effect.forEach([0, 1], () =>
        Effect.flatMap(client.claim({ owner: "predecessor", wait: 0, lease: "1 minute" }), Effect.fromOption)
      )
      // As a process leaves it that is killed after its last checkpoint.
      yield* Effect.scoped(
        Effect.flatMap(Toy.trainer(settings), (predecessor) =>
          Stream.runDrain(predecessor.steps(Stream.fromIterable(leases)))
        )
      )
      yield* LeaseJournal.write(target, {
        firstStep: 1,
        leases: leases.map(({ id, leaseToken, step }) => ({ id, leaseToken, step }))
      })
      const metrics = yield* Effect.flatMap(train(client, settings), Stream.runCollect)
      assert.deepStrictEqual(metrics, [])
      for (const lease of leases) {
        assert.strictEqual((yield* Effect.flip(client.extend(lease, "1 minute"))).reason, "leaseLost")
      }
      assert.isUndefined(yield* nextStep(client))
    })
  )
})
