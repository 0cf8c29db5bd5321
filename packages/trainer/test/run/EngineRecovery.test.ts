/** A trainer whose engine loses the weights: it goes back to its last checkpoint and ends where it would have ended. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { TrajectoryClient } from "@atropos/core"
import { Effect, FileSystem, Layer, Logger, Option, References, Stream } from "effect"
import * as TrainerState from "../../src/checkpoint/TrainerState.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import * as LosingEngine from "./LosingEngine.ts"
import * as Toy from "./ToyTraining.ts"

const steps = 7
const interval = 3

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const published: Array<number> = []

/** Trains; answers with what was told of steps, where it ended, and the batch that nobody holds. */
const run = Effect.fnUntraced(function* (losses: ReadonlyArray<LosingEngine.Loss>) {
  const client = yield* Toy.serviceWith(steps + 1)
  const target = yield* folder
  const settings = Toy.settings(target, { batchSize: 4, trainingSteps: steps, checkpointInterval: interval })
  const fs = yield* FileSystem.FileSystem
  published.length = 0
  const trainer = yield* Toy.trainer(settings, {
    around: LosingEngine.make(losses),
    publish: ({ version }) => Effect.sync(() => void published.push(version))
  })
  const metrics = yield* ServiceTraining.steps(trainer, { settings, owner: "test" }).pipe(
    Stream.provide(TrajectoryClient.context(client)),
    Stream.runCollect,
    Effect.result
  )
  const left = yield* client.claim({ owner: "another", wait: 0, lease: "1 minute" })
  const newest = (yield* fs.readDirectory(target))
    .flatMap((name) => (name.startsWith("step_") ? [Number(name.slice(5))] : []))
    .toSorted((a, b) => b - a)[0]
  const state =
    newest === undefined
      ? undefined
      : yield* Effect.flatMap(fs.readFileString(`${target}/step_${newest}/trainer.json`), TrainerState.decode)
  return { metrics, state, parameters: yield* trainer.parameters, left: Option.getOrUndefined(left)?.step }
}, Effect.scoped)

const warnings: Array<string> = []
const layerTest = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  Logger.layer([Logger.make(({ message }) => void warnings.push(JSON.stringify(message)))]),
  Layer.succeed(References.MinimumLogLevel, "Warn")
)

layer(layerTest, { excludeTestServices: true })("a trainer whose engine loses the weights", (it) => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<LosingEngine.Loss>]> = [
    ["before the first checkpoint", [{ call: "forwardBackward", at: 2 }]],
    ["while it computes a gradient", [{ call: "forwardBackward", at: 5 }]],
    ["before an update", [{ call: "optimizerStep", at: 5 }]],
    ["with an update whose answer is lost", [{ call: "optimizerStep", at: 5, isDone: true }]],
    ["while it is saved", [{ call: "save", at: 2 }]],
    ["with a copy whose answer is lost", [{ call: "save", at: 2, isDone: true }]],
    ["when it hands them on", [{ call: "publish", at: 4 }]],
    [
      "twice, once while it is loaded",
      [
        { call: "optimizerStep", at: 2 },
        { call: "load", at: 2 },
        { call: "forwardBackward", at: 9 }
      ]
    ]
  ]

  it.effect.each(cases)(
    "%s ends with the parameters of one that kept them, every batch trained on once",
    ([, losses]) =>
      Effect.gen(function* () {
        const expected = yield* run([])
        assert.deepStrictEqual(published, [0, 1, 2, 3, 4, 5, 6, 7])
        warnings.length = 0
        const lossy = yield* run(losses)
        assert.deepStrictEqual(lossy.parameters, expected.parameters)
        assert.deepStrictEqual({ ...lossy.state, settings: {} }, { ...expected.state, settings: {} })
        assert.deepStrictEqual(
          lossy.state?.consumed.map(({ step }) => step),
          Array.from({ length: steps }, (_, i) => i + 1)
        )
        // The one that was not to be trained on: all before it were acknowledged, none is held.
        assert.strictEqual(lossy.left, steps + 1)
        assert.strictEqual(published.at(-1), steps)
        const losing = losses.length
        assert.strictEqual(warnings.filter((text) => text.includes("engine lost its weights")).length, losing)
      })
  )

  it.effect("so often that it gets nowhere stops, and gives its batches back", () =>
    Effect.gen(function* () {
      warnings.length = 0
      const { left, metrics, state } = yield* run(
        Array.from({ length: 20 }, (_, i) => ({ call: "forwardBackward", at: interval + 1 + i }) as const)
      )
      assert.strictEqual(metrics._tag, "Failure")
      if (metrics._tag !== "Failure") return
      assert.strictEqual(metrics.failure.reason, "engineLost")
      assert.include(metrics.failure.message, `${ServiceTraining.maxLosses + 1} times since the last checkpoint`)
      assert.include(metrics.failure.message, `step ${interval}`)
      assert.strictEqual(state?.step, interval)
      assert.strictEqual(left, interval + 1)
    })
  )
})
