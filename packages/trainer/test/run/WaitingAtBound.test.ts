/**
 * Environments and a trainer that know of each other by the service alone: what is rolled out waits at the trainer's
 * bound of staleness.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { TrajectoryClientInProcess } from "@atropos/api"
import {
  Environment,
  MemoryTrajectoryClient,
  Rollout,
  ServerManager,
  type Trajectory,
  TrajectoryClient
} from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, Logger, Option, References, Stream } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as TestStore from "../../../api/test/TestStore.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import type { StepMetrics } from "../../src/run/StepMetrics.ts"
import type { TrainerFields } from "../../src/run/TrainerSettings.ts"
import * as Toy from "./ToyTraining.ts"

const groupSize = 4
const trainingSteps = 6

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

/** Trajectories as the toy model could have sampled them, with the version that its samplers had. */
const rollOut = (seed: number, policyVersion: number): ReadonlyArray<Trajectory.Trajectory> => {
  const { inferenceLogprobs, masks, tokens } = Toy.group(seed)
  return tokens.map((sequence, i) => ({
    messages: [],
    completion: String(i),
    finishReason: "stop",
    tokens: sequence,
    mask: masks[i]!,
    logprobs: inferenceLogprobs![i]!,
    policyVersion
  }))
}

/** Items without end, sampled from the weights that are published when their rollout begins; some take longer. */
const environmentOf = (name: string, version: () => number) =>
  Environment.Environment.pipe(
    Effect.provide(
      Environment.layer(name, Environment.settings({}), () =>
        Effect.succeed<Environment.Definition<number, never, never>>({
          items: (cursor) => Stream.iterate(cursor, (item) => item + 1),
          collectTrajectories: (item) =>
            Effect.gen(function* () {
              const sampled = version()
              for (let i = 0; i < (item * 7) % 5; i++) yield* Effect.yieldNow
              return rollOut(item, sampled)
            }),
          score: (item, group) => Effect.succeed(group.map((_, i) => (item + i) % groupSize))
        })
      )({ groupSize, totalSteps: 1000, maxNumWorkers: 16 }),
      { local: true }
    )
  )

let runs = 0

/**
 * Trains for some steps beside environments; answers with the metrics of the steps. `isLooked`: rollouts are sampled
 * from the weights that were there when the servers were looked at, as adapters are that a server lists.
 */
const train = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  more: Partial<TrainerFields>,
  isLooked = false
) {
  const run = `waiting-${runs++}`
  let version = 0
  let listed = 0
  const servers = Layer.effect(
    ServerManager.ServerManager,
    Effect.map(ServerManager.ServerManager, (scripted) => ({
      ...scripted,
      refresh: () => Effect.sync(() => void (listed = version))
    }))
  ).pipe(Layer.provide(ServerManager.layerScripted([])))
  const settings = Toy.settings(yield* folder, { run, batchSize: 16, trainingSteps, checkpointInterval: 4, ...more })
  return yield* Effect.gen(function* () {
    const rolling = yield* Effect.forEach(names, (name) =>
      Effect.gen(function* () {
        const environment = yield* environmentOf(name, () => (isLooked ? listed : version))
        return yield* Effect.forkScoped(Rollout.run(environment, { spoolDirectory: yield* folder }))
      })
    )
    const trainer = yield* Toy.trainer(settings, {
      publish: (weights) => Effect.sync(() => void (version = weights.version))
    })
    const metrics = yield* Stream.runCollect(ServiceTraining.steps(trainer, { settings, owner: "test" }))
    yield* Effect.forEach(rolling, Fiber.interrupt, { concurrency: "unbounded" })
    return metrics
  }).pipe(Effect.provide([TrajectoryClientInProcess.layer({ run }), servers]))
}, Effect.scoped)

const stalest = (metrics: ReadonlyArray<StepMetrics>) => Math.max(...metrics.map(({ stalenessMax }) => stalenessMax))
const dropped = (metrics: ReadonlyArray<StepMetrics>) => metrics.reduce((sum, one) => sum + one.staleDropped, 0)

const layerTest = Layer.mergeAll(
  TestStore.layer,
  SharedOrt.layer,
  NodeServices.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

layer(layerTest, { excludeTestServices: true })("on_stale wait", (it) => {
  for (const [names, environments] of [
    [["one"], "an environment"],
    [["one", "two", "three"], "environments of several programs"]
  ] as const) {
    it.effect(`with max_staleness 0, ${environments} roll out for the next weights alone, and nothing is lost`, () =>
      Effect.gen(function* () {
        const metrics = yield* train(names, { onStale: "wait", maxStaleness: 0 })
        assert.strictEqual(metrics.length, trainingSteps)
        assert.deepStrictEqual([stalest(metrics), dropped(metrics)], [0, 0])
        assert.isTrue(metrics.every(({ skipped }) => skipped === null))
      })
    )
  }

  it.effect("looks which weights servers have before it begins what was waited for", () =>
    Effect.gen(function* () {
      const metrics = yield* train(["one", "two"], { onStale: "wait", maxStaleness: 0 }, true)
      assert.deepStrictEqual([stalest(metrics), dropped(metrics)], [0, 0])
      assert.isTrue(metrics.every(({ skipped }) => skipped === null))
    })
  )

  it.effect("with max_staleness 1 rollouts go on while the trainer trains", () =>
    Effect.gen(function* () {
      const metrics = yield* train(["one"], { onStale: "wait", maxStaleness: 1 })
      assert.deepStrictEqual([stalest(metrics), dropped(metrics)], [1, 0])
    })
  )

  it.effect("keeps what drop throws away", () =>
    Effect.gen(function* () {
      const metrics = yield* train(["one"], { onStale: "drop", maxStaleness: 0 })
      assert.isAbove(stalest(metrics), 0)
      assert.isAbove(dropped(metrics), 0)
    })
  )

  it.effect("is refused without a bound, and says what is missing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(train([], { onStale: "wait" }))
      assert.deepInclude(error, { _tag: "TrainerError", reason: "settings" })
      assert.include(error.message, "also set max_staleness")
    })
  )

  it.effect("is told to be without effect at a service that holds nobody back", () =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const settings = Toy.settings(yield* folder, {
        batchSize: 8,
        trainingSteps: 1,
        onStale: "wait",
        maxStaleness: 0
      })
      yield* Effect.gen(function* () {
        const client = yield* TrajectoryClient.all
        const trainer = yield* Toy.trainer(settings)
        const stream = ServiceTraining.steps(trainer, { settings, owner: "test" })
        const training = yield* Effect.forkScoped(Stream.runCollect(stream))
        const registered = yield* Waits.until(
          "the run",
          client.registerEnvironment({
            desiredName: "plain",
            weight: 1,
            groupSize,
            maxTokenLength: 16,
            minBatchAllocation: null
          }),
          Option.isSome
        )
        const { envId } = Option.getOrThrow(registered)
        yield* client.submit(
          envId,
          [0, 5].map((seed) => ({ key: crypto.randomUUID(), group: Toy.group(seed) }))
        )
        assert.strictEqual((yield* Fiber.join(training)).length, 1)
      }).pipe(
        Effect.provide([
          MemoryTrajectoryClient.layer(),
          Layer.succeed(References.MinimumLogLevel, "Warn"),
          Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
        ])
      )
      assert.isTrue(said.some((line) => line.includes("cannot make environments wait")))
    }).pipe(Effect.scoped)
  )
})
