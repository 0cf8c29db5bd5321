/** Mixtures of experts in a folder: joined from files, rounded, trained whole, and written as they were. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, References } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Ort from "../../src/exec/Ort.ts"
import type * as Model from "../../src/model/Model.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as QuantizedWeights from "../../src/model/QuantizedWeights.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Stacks from "../../src/model/Stacks.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as Weights from "../../src/model/Weights.ts"
import * as Fixtures from "./Fixtures.ts"
import * as MixtureFolder from "./MixtureFolder.ts"

const services = Layer.mergeAll(
  Ort.layer({ threads: 1 }),
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

const adapter = { r: 2, alpha: 4, rslora: false, targetModules: ["q_proj", "v_proj"] }

const cells = Fixtures.grid([
  [
    [1, 2, 3, 4, 5],
    [6, 7, 8]
  ],
  [[9, 10, 11, 2]]
])

const moved = ({ initial }: Model.Model) => initial.map((value, i) => value + 0.05 * Math.sin(i))

const inCache = (root: string) => ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_CACHE_DIR: root }))

const written = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* fs.makeTempDirectoryScoped()
  const folder = yield* MixtureFolder.write(`${root}/model`)
  const load = (trains: PretrainedModel.Options["trains"], quantize?: QuantizedWeights.Kind) =>
    Effect.provide(PretrainedModel.load(folder, { trains, seed: 1, quantize }), inCache(root))
  return { root, folder, load }
})

const read = ({ file, offset }: Weights.Matrix["codes"], bytes: number) => Safetensors.readBytes(file, offset, bytes)

/** The same model with its rounded matrices as values in float32. */
const explicit = Effect.fnUntraced(function* (model: Model.Model) {
  const weights = new Map(model.weights)
  const shapes = new Map(Tensors.inGraph(model.config).map(({ name, shape }) => [name, shape]))
  for (const [name, weight] of model.weights) {
    if (!Weights.isMatrix(weight)) continue
    const elements = Weights.elementsOf(weight)
    const codes = yield* read(weight.codes, (elements * weight.bits) / 8)
    const scales = new Float32Array((yield* read(weight.scales, (4 * elements) / weight.blockSize)).buffer)
    const data = QuantizedWeights.widened({ codes, scales }, weight.bits === 8 ? "int8" : "int4")
    weights.set(name, { dtype: "float32", shape: shapes.get(name)!, data })
  }
  return { ...model, weights } satisfies Model.Model
})

const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)

layer(services, { excludeTestServices: true })("a mixture of experts in a folder", (it) => {
  it.effect("has the same numbers from a file of the cache as from memory", () =>
    Effect.gen(function* () {
      const { folder, load, root } = yield* written
      const model = yield* load(adapter)
      const entries = yield* ModelFolder.readEntries(folder, model.config)
      const stacks = Tensors.stacks(model.config)
      assert.strictEqual(stacks.length, 3)
      const cached = yield* Effect.provide(Stacks.cached(stacks, entries, 0), inCache(root))
      assert.isTrue([...cached.values()].every(({ data }) => "file" in data))
      const mapped = { ...model, weights: new Map([...model.weights, ...cached]) }
      const parameters = moved(model)
      const [first, second] = yield* Effect.forEach([model, mapped], (which) =>
        Effect.flatMap(Fixtures.logitsOf(which), (logits) => logits(cells, parameters))
      )
      assert.deepStrictEqual(first, second)
    }).pipe(Effect.scoped)
  )

  for (const kind of QuantizedWeights.kinds) {
    it.effect(`has the gradients of the widened weights in ${kind}`, () =>
      Effect.gen(function* () {
        const { load } = yield* written
        const model = yield* load(adapter, kind)
        assert.isTrue([...model.weights].some(([name, weight]) => name.includes("experts") && Weights.isMatrix(weight)))
        const parameters = moved(model)
        const { gradient } = yield* Fixtures.gradientOf(model, cells, parameters, "parts")
        const reference = yield* Fixtures.gradientOf(yield* explicit(model), cells, parameters, false)
        const size = largest(reference.gradient)
        assert.isAbove(size, 0)
        assert.isBelow(Fixtures.maxDifference(gradient, reference.gradient) / size, 1e-4)
      }).pipe(Effect.scoped)
    )
  }

  it.effect("is trained whole, and written as it was read", () =>
    Effect.gen(function* () {
      const { folder, load, root } = yield* written
      const model = yield* load("all")
      const [plain, again] = yield* Effect.forEach([false, "parts"] as const, (remat) =>
        Fixtures.gradientOf(model, cells, model.initial, remat)
      )
      const size = largest(plain.gradient)
      assert.isBelow(Fixtures.maxDifference(plain.gradient, again!.gradient) / size, 1e-4)
      yield* model.write(`${root}/written`, model.initial)
      const [theirs, ours] = yield* Effect.forEach([folder, `${root}/written`], (at) =>
        Safetensors.head(`${at}/${ModelFolder.singleFile}`)
      )
      assert.deepStrictEqual([...ours!.tensors.keys()].toSorted(), [...theirs!.tensors.keys()].toSorted())
      for (const [name, entry] of ours!.tensors) {
        assert.deepStrictEqual(yield* Safetensors.floats(entry), yield* Safetensors.floats(theirs!.tensors.get(name)!))
      }
    }).pipe(Effect.scoped)
  )
})
