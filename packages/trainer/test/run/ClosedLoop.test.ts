/** The closed loop on a real engine and a service in memory, with a task of one letter. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Environment, MemoryTrajectoryClient, ServerManager, TrajectoryClient } from "@atropos/core"
import { Effect, FileSystem, Layer, Logger, Option, References, Stream } from "effect"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as LosingEngine from "./LosingEngine.ts"

const letters = "abcd"
const model = TinyModel.make({ characters: letters, seed: 1, maxPositions: 8 })

/** Items from the cursor on; after `last` items the source breaks, or does what it is told. */
const letter = (name: string, last: number, atEnd: Effect.Effect<Option.Option<number>, unknown>) =>
  Environment.layer(name, Environment.settings({}), ({ groupSize }) =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) =>
        Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(
          Stream.mapEffect((index) => (index < last ? Effect.succeedSome(index) : atEnd)),
          Stream.takeWhile(Option.isSome),
          Stream.map(({ value }) => value)
        ),
      collectTrajectories: (index: number) =>
        servers.complete({ prompt: letters[index % 4]!, n: groupSize, maxTokens: 1, seed: index }),
      score: (index: number, group: ReadonlyArray<{ readonly completion: string }>) =>
        Effect.succeed(group.map(({ completion }) => (completion === letters[index % 4] ? 1 : 0)))
    }))
  )

const common = { groupSize: 8, ensureScoresAreNotSame: false }
const environment = (last: number, atEnd: Effect.Effect<Option.Option<number>, unknown> = Effect.fail("no more")) =>
  letter("letters", last, atEnd)(common)

const endless = Number.MAX_SAFE_INTEGER
/** A third and two thirds of the batches. */
const mix = Environment.merge(
  letter("few", endless, Effect.die("unreachable"))({ ...common, inferenceWeight: 1 }),
  letter("many", endless, Effect.die("unreachable"))({ ...common, inferenceWeight: 2 })
)

/** Of every third item a group of 7: a rollout was left out. */
const odd = Environment.layer("odd", Environment.settings({}), ({ groupSize }) =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
    collectTrajectories: Effect.fnUntraced(function* (index: number) {
      const size = index % 3 === 0 ? groupSize - 1 : groupSize
      const trajectories = yield* servers.complete({ prompt: letters[index % 4]!, n: size, maxTokens: 1, seed: index })
      return { groups: [{ trajectories, groupOverrides: { group_size: size } }] }
    }),
    score: (_index: number, group: ReadonlyArray<unknown>) => Effect.succeed(group.map((_, place) => place % 2))
  }))
)(common)

const parts = (...items: Parameters<typeof environment>) => around(environment(...items))

const around = (layer: Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager>) =>
  Layer.mergeAll(layer, MemoryTrajectoryClient.layer(), LocalLearner.layerInProcess({ model })).pipe(
    Layer.provide(SharedOrt.layer),
    Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer)),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
  )

const settings = (savePath: string) =>
  TrainerSettings.complete({
    trainer: { savePath, trainingSteps: 6, batchSize: 16, seqLen: 8, lr: 1e-3, checkpointInterval: 0 },
    loss: { preset: "dr-grpo" }
  })

const loop = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  return { folder, fs, ...(yield* ClosedLoop.make({ settings: settings(folder) })) }
})

describe("ClosedLoop", () => {
  it.live("samples every batch from the weights that it trains", () =>
    Effect.gen(function* () {
      const { steps } = yield* loop
      const metrics = yield* Stream.runCollect(steps)
      assert.deepStrictEqual(
        metrics.map(({ policyVersion, stalenessMax, step }) => [step, policyVersion, stalenessMax]),
        [1, 2, 3, 4, 5, 6].map((step) => [step, step, 0])
      )
    }).pipe(Effect.scoped, Effect.provide(parts(Number.MAX_SAFE_INTEGER)))
  )

  it.live(
    "samples every batch of several environments from the weights that it trains, where shares are no whole groups",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const environments = yield* Environment.Environments
        const { steps } = yield* ClosedLoop.makeOf(environments, { settings: settings(folder) })
        const metrics = yield* Stream.runCollect(steps)
        assert.deepStrictEqual(
          metrics.map(({ sequences, stalenessMax, step }) => [step, sequences, stalenessMax]),
          [1, 2, 3, 4, 5, 6].map((step) => [step, 16, 0])
        )
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(mix, parts(endless))))
  )

  it.live("goes on where groups of other sizes than announced make no batch", () =>
    Effect.gen(function* () {
      const { steps } = yield* loop
      const metrics = yield* Stream.runCollect(steps)
      assert.deepStrictEqual(
        metrics.map(({ sequences }) => sequences),
        Array.from({ length: 6 }, () => 16)
      )
    }).pipe(Effect.scoped, Effect.provide(around(odd)))
  )

  it.live("left early, trains no further, keeps what it has learned and leases nothing", () =>
    Effect.gen(function* () {
      const { folder, fs, steps, trainer } = yield* loop
      yield* Stream.runDrain(Stream.take(steps, 2))
      assert.strictEqual(yield* trainer.step, 2)
      assert.include(yield* fs.readDirectory(folder), "step_2")
      const client = yield* TrajectoryClient.all
      const next = yield* client.claim({ owner: "another", wait: 0, lease: "1 minute" })
      assert.isTrue(Option.match(next, { onNone: () => true, onSome: ({ step }) => step === 3 }))
    }).pipe(Effect.scoped, Effect.provide(parts(Number.MAX_SAFE_INTEGER)))
  )

  it.live("trains on every whole batch when the items run out, then ends and says so", () => {
    const warnings: Array<unknown> = []
    const logger = Logger.make(({ message }) => void warnings.push(message))
    return Effect.gen(function* () {
      const { steps, trainer } = yield* loop
      // Seven groups of eight are three batches of sixteen and a half.
      const metrics = yield* Stream.runCollect(steps)
      assert.deepStrictEqual(
        metrics.map(({ step }) => step),
        [1, 2, 3]
      )
      assert.strictEqual(yield* trainer.step, 3)
      assert.strictEqual(warnings.length, 1)
      assert.match(JSON.stringify(warnings), /items exhausted.*3 of 6.*fewer than batch_size \(16\) sequences/)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Warn")).pipe(
          Layer.provideMerge(parts(7, Effect.succeedNone))
        )
      )
    )
  })

  it.live("whose engine loses the weights ends with those of one that kept them", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const run = Effect.fnUntraced(
        function* (losses: ReadonlyArray<LosingEngine.Loss>) {
          let parameters: Float32Array | undefined
          const publish = (weights: LocalLearner.Weights) =>
            Effect.sync(() => void (parameters = weights.parameters.slice()))
          const losing = Layer.effect(LearnerEngine, Effect.map(LearnerEngine, LosingEngine.make(losses))).pipe(
            Layer.provide(LocalLearner.layerInProcess({ model, publish }))
          )
          const given = settings(yield* fs.makeTempDirectoryScoped())
          const { steps } = yield* ClosedLoop.make({
            settings: { ...given, trainer: { ...given.trainer, checkpointInterval: 2 } }
          }).pipe(Effect.provide(losing))
          const metrics = yield* Stream.runCollect(steps)
          return { parameters, steps: metrics.map(({ step }) => step), stale: metrics.map((one) => one.stalenessMax) }
        },
        Effect.scoped,
        // The executor has to outlive the layer of the engine.
        Effect.provide([parts(endless), SharedOrt.layer], { local: true })
      )
      const kept = yield* run([])
      const lost = yield* run([
        { call: "forwardBackward", at: 4 },
        { call: "optimizerStep", at: 6, isDone: true }
      ])
      assert.deepStrictEqual(lost.parameters, kept.parameters)
      assert.deepStrictEqual(kept.steps, [1, 2, 3, 4, 5, 6])
      // The fourth is lost after the checkpoint of the second, the fifth after that of the fourth.
      assert.deepStrictEqual(lost.steps, [1, 2, 3, 3, 4, 5, 6])
      assert.isTrue([...kept.stale, ...lost.stale].every((staleness) => staleness === 0))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("fails when its environment does", () =>
    Effect.gen(function* () {
      const { steps } = yield* loop
      const error = yield* Effect.flip(Stream.runDrain(steps))
      assert.strictEqual(error._tag, "RolloutError")
      assert.include(error.message, "no more")
    }).pipe(Effect.scoped, Effect.provide(parts(5)))
  )
})
