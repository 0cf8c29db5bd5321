/** The contract of engines on our own Tinker server, over HTTP, in this process. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, FileSystem, Layer, Result, Scope } from "effect"
import type * as Engine from "../../src/engine/Engine.ts"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as TinkerEngine from "../../src/tinker/TinkerEngine.ts"
import * as LearnerContract from "../learn/LearnerContract.ts"
import { serve } from "../tinker/server/TestTinkerServer.ts"

const whole = TinyModel.make({
  characters: "abcdefghijklmnop",
  seed: 3,
  hiddenSize: 32,
  layers: 1,
  maxPositions: 16,
  embeddingDeviation: 0.25
})
const model = TinyModel.withAdapter(
  whole,
  whole.initial,
  { r: 1, alpha: 1, targetModules: ["all-linear"], rslora: false },
  0
)

/** What the present test has. */
let published: Array<number> = []
let restart: Effect.Effect<void, unknown> = Effect.void

/** A server that can be started anew at its port, on its checkpoints. */
const restartable = Effect.gen(function* () {
  const owner = yield* Effect.scope
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  let scope = yield* Scope.fork(owner)
  const { url } = yield* Scope.provide(serve({ model, folder }), scope)
  const port = Number(new URL(url).port)
  restart = Effect.gen(function* () {
    yield* Scope.close(scope, Exit.void)
    scope = yield* Scope.fork(owner)
    yield* Scope.provide(serve({ model, folder, port }), scope)
  }).pipe(Effect.provide(NodeServices.layer))
  return url
})

/** The version that a sample is drawn from. */
const sampledVersion = (engine: Engine.Shape) =>
  Effect.map(
    Effect.orDie(
      engine.generate({ promptTokens: [2, 3], n: 1, maxTokens: 1, temperature: 1, topP: 1, topK: 0, stopTokenIds: [0] })
    ),
    ([completion]) => completion!.policyVersion
  )

const layer = Layer.effect(
  LearnerEngine,
  Effect.gen(function* () {
    published = []
    const { engine, learner } = yield* TinkerEngine.make({
      address: { url: yield* restartable, apiKey: undefined },
      baseModel: "tiny",
      vocabSize: model.config.vocabSize,
      maxPositions: model.config.maxPositions,
      rank: 4,
      seed: 5
    })
    return {
      ...learner,
      load: (options) =>
        Effect.map(learner.load(options), (loaded) => ({
          ...loaded,
          publish: (version: number) =>
            Effect.andThen(
              loaded.publish(version),
              Effect.map(sampledVersion(engine), (sampled) => void published.push(sampled))
            )
        }))
    }
  })
).pipe(Layer.provide([NodeHttpClient.layerUndici, OrtWorker.layer({ threads: 1, device: "cpu" })]))

LearnerContract.suite("a Tinker server", {
  layer,
  tolerance: 0,
  learningRate: 0.02,
  hasOneTemperature: true,
  published: Effect.sync(() => published),
  refused: Result.getOrThrow(Preset.resolve({ preset: "distill" })),
  lose: Effect.suspend(() => restart)
})
