/** Frozen weights in 8 and 4 bits: how they are rounded and kept, and what is learned and sampled through them. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, References, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as Characters from "../../src/model/Characters.ts"
import * as Model from "../../src/model/Model.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as QuantizedWeights from "../../src/model/QuantizedWeights.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as Weights from "../../src/model/Weights.ts"
import * as Fixtures from "./Fixtures.ts"

const { blockSize } = QuantizedWeights

describe("rounding", () => {
  const values = Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -1e3, maximum: 1e3 })))
  for (const [kind, steps] of [
    ["int8", 128],
    ["int4", 8]
  ] as const) {
    it.prop(`${kind} is within a step of every value, and of zeros is zeros`, [values], ([given]) => {
      const values = new Float32Array(2 * blockSize)
      values.set(given.slice(0, blockSize))
      const rounded = QuantizedWeights.round(values, kind)
      assert.strictEqual(rounded.codes.length, values.length / (kind === "int4" ? 2 : 1))
      const again = QuantizedWeights.widened(rounded, kind)
      const largest = Math.max(...values.map(Math.abs))
      // The side that the scale does not reach to the end of has one step less.
      assert.isAtMost(Fixtures.maxDifference(again, values), (1.2 * largest) / steps + 1e-30)
      assert.isTrue(again.subarray(blockSize).every((value) => value === 0))
    })
  }
})

const inCache = (folder: string) => ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_CACHE_DIR: folder }))

const characters = "abcdefghijkl"
const vocabulary = Characters.make(characters).vocabularySize
const adapter = { r: 4, alpha: 8, rslora: false, targetModules: ["all-linear"] }

/** A folder with a model of random weights, and a cache beside it. */
const written = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* fs.makeTempDirectoryScoped()
  const model = TinyModel.make({ characters, seed: 3, layers: 1, embeddingDeviation: 0.5 })
  // With norms of one the sum of squares that the gradient is taken of would hardly depend on anything.
  for (const slot of model.layout.slots) {
    if (slot.name === Tensors.finalNorm)
      Parameters.view(model.initial, slot).forEach((_, i, view) => (view[i] = 1 + Math.sin(i)))
  }
  yield* model.write(`${root}/model`, model.initial)
  const load = (quantize?: QuantizedWeights.Kind) =>
    Effect.provide(PretrainedModel.load(`${root}/model`, { trains: adapter, seed: 1, quantize }), inCache(root))
  return { load, root }
})

/** B is zero at the beginning, and its adapter says nothing. */
const moved = ({ initial }: Model.Model) => initial.map((value, i) => value + 0.05 * Math.sin(i))

const read = ({ file, offset }: Weights.Matrix["codes"], length: number) => Safetensors.readBytes(file, offset, length)

/** The same model with its rounded matrices as values in float32. */
const explicit = Effect.fnUntraced(function* (model: Model.Model) {
  const weights = new Map(model.weights)
  for (const [name, weight] of model.weights) {
    if (!Weights.isMatrix(weight)) continue
    const [rows, width] = weight.shape
    const codes = yield* read(weight.codes, (rows * width * weight.bits) / 8)
    const scales = new Float32Array((yield* read(weight.scales, (4 * rows * width) / blockSize)).buffer)
    const data = QuantizedWeights.widened({ codes, scales }, weight.bits === 8 ? "int8" : "int4")
    weights.set(name, { dtype: "float32", shape: weight.shape, data })
  }
  return { ...model, weights } satisfies Model.Model
})

/** log softmax of a position's logits, at a token. */
const logprobOf = (logits: Float32Array, position: number, token: number): number => {
  const row = logits.subarray(position * vocabulary, (position + 1) * vocabulary)
  const top = Math.max(...row)
  return row[token]! - top - Math.log(row.reduce((sum, z) => sum + Math.exp(z - top), 0))
}

const services = Layer.mergeAll(
  Ort.layer({ threads: 1 }),
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

layer(services, { excludeTestServices: true })("a model in 8 and 4 bits", (it) => {
  it.effect("is rounded once by any number at the same time, again when it has changed, and leaves no parts", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { load, root } = yield* written
      yield* Effect.all([load("int4"), load("int4"), load("int4")], { concurrency: "unbounded" })
      const files = fs.readDirectory(`${root}/quantized`)
      const [name, ...others] = yield* files
      assert.deepStrictEqual(others, [])
      const { ino } = yield* fs.stat(`${root}/quantized/${name}`)
      yield* load("int4")
      assert.deepStrictEqual((yield* fs.stat(`${root}/quantized/${name}`)).ino, ino)
      yield* fs.utimes(`${root}/model/model.safetensors`, new Date(0), new Date(0))
      yield* load("int4")
      assert.strictEqual((yield* files).length, 2)
      yield* load("int8")
      assert.strictEqual((yield* files).length, 3)
    }).pipe(Effect.scoped)
  )

  it.effect("is refused where all weights are trained, and where the cache cannot be written", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { root } = yield* written
      yield* fs.writeFileString(`${root}/occupied`, "")
      const load = (trains: PretrainedModel.Options["trains"]) =>
        Effect.flip(
          Effect.provide(
            PretrainedModel.load(`${root}/model`, { trains, seed: 1, quantize: "int4" }),
            inCache(`${root}/occupied`)
          )
        )
      assert.include((yield* load("all")).message, "all weights are trained")
      const { message } = yield* load(adapter)
      assert.include(message, "ATROPOS_CACHE_DIR")
      assert.include(message, "int4")
    }).pipe(Effect.scoped)
  )

  for (const kind of QuantizedWeights.kinds) {
    it.effect(
      `${kind} has the gradients of the adapter that the widened weights have, whatever is computed again`,
      () =>
        Effect.gen(function* () {
          const { load } = yield* written
          const model = yield* load(kind)
          const rounded = [...model.weights].filter(([, weight]) => Weights.isMatrix(weight))
          assert.strictEqual(rounded.length, 7 * model.config.layers)
          const cells = Fixtures.grid([
            [
              [1, 2, 3, 4, 5],
              [6, 7, 8]
            ],
            [[9, 10, 11, 2]]
          ])
          const parameters = moved(model)
          const reference = yield* Fixtures.gradientOf(yield* explicit(model), cells, parameters, false)
          const size = Math.max(...reference.gradient.map(Math.abs))
          assert.isAbove(size, 0)
          for (const remat of [false, "parts", "elements"] as const) {
            const { gradient } = yield* Fixtures.gradientOf(model, cells, parameters, remat)
            assert.isBelow(Fixtures.maxDifference(gradient, reference.gradient) / size, 1e-4)
          }
          // And they are others than those of the weights as they were.
          const unrounded = yield* Fixtures.gradientOf(yield* load(), cells, parameters, false)
          assert.isAbove(Fixtures.maxDifference(unrounded.gradient, reference.gradient) / size, 1e-3)
        }).pipe(Effect.scoped)
    )

    it.effect(`${kind} is sampled with the logprobs that the trainer has of it`, () =>
      Effect.gen(function* () {
        const { load } = yield* written
        const model = yield* load(kind)
        const parameters = moved(model)
        const engine = yield* Engine.make({
          model: DecodeGraph.make(Model.decodable(model)),
          initial: { policy: "initial", policyVersion: 0, parameters },
          device: "cpu"
        })
        const sampled = yield* engine.generate({
          promptTokens: [1, 2, 3],
          n: 8,
          maxTokens: 24,
          temperature: 1,
          topP: 1,
          topK: 0,
          stopTokenIds: [],
          seed: 1
        })
        const sequences = sampled.map(({ tokens }) => [1, 2, 3, ...tokens])
        const cells = Fixtures.grid(sequences.map((sequence) => [sequence]))
        const logits = yield* (yield* Fixtures.logitsOf(model))(cells, parameters)
        // In float32 arithmetic the sampler's numbers are the trainer's; in integers of 8 bits they are close to them.
        const tolerance = kind === "int4" ? 1e-4 : 0.1
        sampled.forEach(({ logprobs }, i) => {
          const ours = sequences[i]!.slice(3).map((token, t) => logprobOf(logits, cells.starts[i]! + t + 2, token))
          assert.isBelow(Fixtures.maxDifference(ours, logprobs), tolerance)
        })
      }).pipe(Effect.scoped)
    )
  }
})
