/**
 * Writes adapters and whole models with their logits, for `check-adapter-with-peft.py` to compare with PEFT's and
 * transformers'.
 *
 *     node --conditions=atropos-src scripts/write-model-samples.ts <folder>
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { join } from "node:path"
import * as Ort from "../packages/trainer/src/exec/Ort.ts"
import * as Merge from "../packages/trainer/src/model/Merge.ts"
import type { Model } from "../packages/trainer/src/model/Model.ts"
import * as ModelFolder from "../packages/trainer/src/model/ModelFolder.ts"
import * as Peft from "../packages/trainer/src/model/Peft.ts"
import * as PretrainedModel from "../packages/trainer/src/model/PretrainedModel.ts"
import * as Safetensors from "../packages/trainer/src/model/file/Safetensors.ts"
import * as Tensors from "../packages/trainer/src/model/Tensors.ts"
import * as TinyModel from "../packages/trainer/src/model/TinyModel.ts"
import { uniform } from "../packages/trainer/src/base/CounterRandom.ts"
import * as Architectures from "../packages/trainer/test/model/Architectures.ts"
import * as Fixtures from "../packages/trainer/test/model/Fixtures.ts"

const [out = "model-samples"] = process.argv.slice(2)

/**
 * Initial values perturbed by up to `width`, so that B of an adapter is not zero and norms and biases are not trivial.
 */
const moved = (model: Model, width: number): Float32Array =>
  model.initial.map((value, at) => value + width * (2 * uniform(11, 0, at) - 1))

/** Saves the model at these parameters, and its logits of each sequence. */
const sample = Effect.fnUntraced(function* (
  kind: "adapter" | "model",
  name: string,
  model: Model,
  width: number,
  base?: string
) {
  const fs = yield* FileSystem.FileSystem
  const folder = join(out, name)
  const parameters = moved(model, width)
  const inputIds = [5, 19, 40].map((length, row) =>
    Array.makeBy(length, (t) => Math.floor(model.config.vocabSize * uniform(7, row, t)))
  )
  const run = yield* Fixtures.logitsOf(model)
  const logits = yield* Effect.forEach(inputIds, (sequence) => run(Fixtures.grid([[sequence]]), parameters))
  yield* model.write(folder, parameters)
  yield* fs.writeFileString(
    join(folder, "sample.json"),
    JSON.stringify({ kind, base, inputIds, logits: logits.map((values) => globalThis.Array.from(values)) })
  )
  yield* Console.log(`${folder}: ${parameters.length} parameters`)
}, Effect.scoped)

/**
 * For a model of text and pictures: an adapter on its text part, that part merged with it, and alone. The logits with
 * the adapter are the fixture's own, which the tests compare with ours.
 */
const textSamples = Effect.fnUntraced(function* (name: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = Architectures.folder(name)
  const loaded = yield* Architectures.load(folder)
  const { expected, model, parameters } = loaded
  const { adapter, config, layout } = model
  const write = Effect.fnUntraced(function* (
    kind: "adapter" | "model",
    to: string,
    logits: ReadonlyArray<Float32Array>
  ) {
    const sample = { kind, base: folder, inputIds: expected.inputIds, logits: logits.map((row) => [...row]) }
    yield* fs.writeFileString(join(to, "sample.json"), JSON.stringify(sample))
    yield* Console.log(to)
  })
  const adapted = expected.logits.map(Fixtures.floats)
  const [whole, merged, alone] = ["adapter", "merged", "text"].map((part) => join(out, `${name}-${part}`))
  yield* Peft.write(whole!, { layout, adapter, parameters, base: folder, textOf: config.textOf })
  yield* write("adapter", whole!, adapted)
  yield* Merge.merge({ model: folder, adapter: whole!, to: merged!, type: "F32" })
  yield* write("model", merged!, adapted)
  const neutral = parameters.map(() => 0)
  const ways = { attention: "rows", remat: "parts" } as const
  const { logits } = yield* Architectures.forwardAndBackward({ ...loaded, parameters: neutral }, ways)
  const entries = yield* ModelFolder.readEntries(folder, config)
  const tensors = yield* Effect.forEach(Tensors.all(config), ({ name, shape }) =>
    // `readEntries` has checked that all exist.
    Effect.map(Safetensors.floats(entries.get(name)!), (data) => [name, { dtype: "float32", shape, data }] as const)
  )
  yield* ModelFolder.write(alone!, config, new Map(tensors))
  yield* write("model", alone!, logits)
}, Effect.scoped)

const program = Effect.gen(function* () {
  for (const name of Fixtures.names) {
    const folder = Fixtures.folder(name)
    const rslora = name === "qwen2"
    const targetModules = name === "smollm" ? ["q_proj", "v_proj"] : ["all-linear"]
    const adapter = { r: 4, alpha: 12, rslora, targetModules }
    const adapted = yield* PretrainedModel.load(folder, { trains: adapter, seed: 1 })
    yield* sample("adapter", `${name}-adapter`, adapted, 0.2, folder)
    yield* sample("model", `${name}-whole`, yield* PretrainedModel.load(folder, { trains: "all", seed: 1 }), 0.1)
  }
  for (const name of ["gemma3-pictures", "mistral3", "mistral3-ministral3"]) yield* textSamples(name)
  const tiny = TinyModel.make({ characters: "0123456789+=", seed: 3 })
  yield* sample("model", "tiny", tiny, 0.2)
})

await Effect.runPromise(
  program.pipe(Effect.provide(Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer, FetchHttpClient.layer)))
)
