/** The decoder and the adapters held to transformers and PEFT, on checkpoints that these saved. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Ort from "../../src/exec/Ort.ts"
import type { LoraSettings } from "../../src/model/Lora.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as Fixtures from "./Fixtures.ts"

const everywhere: LoraSettings = { r: 2, alpha: 4, rslora: false, targetModules: ["all-linear"] }

/** Logits of one sequence of the grid. */
const part = (logits: Float32Array, start: number, length: number, vocabSize: number): Float32Array =>
  logits.subarray(start * vocabSize, (start + length) * vocabSize)

/** log softmax(logits)[target] of each position that has a target. */
const logprobs = (logits: Float32Array, targets: ReadonlyArray<number>, vocabSize: number): Float32Array =>
  Float32Array.from(targets, (target, t) => {
    const row = logits.subarray(t * vocabSize, (t + 1) * vocabSize)
    const top = Math.max(...row)
    return row[target]! - top - Math.log(row.reduce((sum, z) => sum + Math.exp(z - top), 0))
  })

const services = Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer, FetchHttpClient.layer)

layer(services, { excludeTestServices: true })("a decoder of a folder that transformers saved", (it) => {
  it.effect.each(Fixtures.names)("gives transformers' logits and logprobs: %s", (name) =>
    Effect.gen(function* () {
      const { base, inputIds, vocabSize } = Fixtures.expected(name)
      const model = yield* PretrainedModel.load(Fixtures.folder(name), { trains: everywhere, seed: 1 })
      const cells = Fixtures.grid(inputIds.map((sequence) => [sequence]))
      const logits = yield* (yield* Fixtures.logitsOf(model))(cells, model.initial)
      inputIds.forEach((sequence, i) => {
        const found = part(logits, cells.starts[i]!, sequence.length, vocabSize)
        assert.isBelow(Fixtures.maxDifference(found, Fixtures.floats(base.logits[i]!)), 1e-4)
        const ours = logprobs(found, sequence.slice(1), vocabSize)
        assert.isBelow(Fixtures.maxDifference(ours, Fixtures.floats(base.logprobs[i]!)), 1e-4)
      })
    }).pipe(Effect.scoped)
  )

  it.effect(
    "begins with the model's own logits under an adapter of any kind, which is also what it is without it",
    () =>
      Effect.gen(function* () {
        const { base, inputIds } = Fixtures.expected("llama")
        const trains: LoraSettings = {
          ...everywhere,
          targetModules: [...Tensors.projectionNames, "lm_head"],
          dora: true,
          modulesToSave: ["embed_tokens"]
        }
        const model = yield* PretrainedModel.load(Fixtures.folder("llama"), { trains, seed: 1 })
        assert.deepStrictEqual(model.neutral, model.initial)
        const logits = yield* (yield* Fixtures.logitsOf(model))(Fixtures.grid([[inputIds[2]!]]), model.initial)
        assert.isBelow(Fixtures.maxDifference(logits, Fixtures.floats(base.logits[2]!)), 1e-4)
      }).pipe(Effect.scoped)
  )

  it.effect.each([
    ["llama", { modulesToSave: ["q_proj"] }, /unknown "q_proj"; the model has embed_tokens and lm_head/],
    ["llama", { modulesToSave: ["lm_head"], targetModules: ["lm_head"] }, /lm_head is in both/],
    ["llama", { dora: true, targetModules: ["embed_tokens"] }, /DoRA on embed_tokens is not supported/],
    [
      "llama",
      { targetModules: ["qkv_proj"] },
      /unknown linear layer "qkv_proj"; the model has q_proj, .*, embed_tokens, lm_head/
    ],
    ["qwen2", { modulesToSave: ["embed_tokens"] }, /embeddings are tied/]
  ] as const)("refuses an adapter that makes no sense on %s: %j", ([name, change, reason]) =>
    Effect.gen(function* () {
      const trains = { ...everywhere, ...change }
      const error = yield* Effect.flip(PretrainedModel.load(Fixtures.folder(name), { trains, seed: 1 }))
      assert.match(error.message, reason)
    }).pipe(Effect.scoped)
  )

  it.effect.each(Fixtures.names)("gives the same logits when every weight is trained: %s", (name) =>
    Effect.gen(function* () {
      const { base, inputIds, vocabSize } = Fixtures.expected(name)
      const model = yield* PretrainedModel.load(Fixtures.folder(name), { trains: "all", seed: 1 })
      assert.strictEqual(model.weights.size, 0)
      const cells = Fixtures.grid([[inputIds[2]!]])
      const logits = yield* (yield* Fixtures.logitsOf(model))(cells, model.initial)
      const found = part(logits, 0, inputIds[2]!.length, vocabSize)
      assert.isBelow(Fixtures.maxDifference(found, Fixtures.floats(base.logits[2]!)), 1e-4)
    }).pipe(Effect.scoped)
  )

  it.effect.each(Fixtures.names)("gives a packed sequence the logits it has alone: %s", (name) =>
    Effect.gen(function* () {
      const { inputIds, vocabSize } = Fixtures.expected(name)
      const [a, b, c, d] = inputIds
      const model = yield* PretrainedModel.load(Fixtures.folder(name), { trains: everywhere, seed: 1 })
      const run = yield* Fixtures.logitsOf(model)
      const packed = Fixtures.grid([
        [a!, d!],
        [c!, b!]
      ])
      const logits = yield* run(packed, model.initial)
      for (const [i, sequence] of [a!, d!, c!, b!].entries()) {
        const alone = yield* run(Fixtures.grid([[sequence]]), model.initial)
        const found = part(logits, packed.starts[i]!, sequence.length, vocabSize)
        assert.isBelow(Fixtures.maxDifference(found, alone), 2e-5)
      }
    }).pipe(Effect.scoped)
  )

  it.effect.each(Fixtures.names)("gives PEFT's logits with PEFT's adapter, also after saving it: %s", (name) =>
    Effect.gen(function* () {
      const { adapter, inputIds, vocabSize } = Fixtures.expected(name)
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const model = yield* PretrainedModel.loadAdapter(Fixtures.folder(name), Fixtures.adapterFolder(name))
      const cells = Fixtures.grid(inputIds.map((sequence) => [sequence]))
      const logits = yield* (yield* Fixtures.logitsOf(model))(cells, model.initial)
      inputIds.forEach((sequence, i) => {
        const found = part(logits, cells.starts[i]!, sequence.length, vocabSize)
        assert.isBelow(Fixtures.maxDifference(found, Fixtures.floats(adapter.logits[i]!)), 1e-4)
      })
      yield* model.write(folder, model.initial)
      const again = yield* PretrainedModel.loadAdapter(Fixtures.folder(name), folder)
      assert.deepStrictEqual(again.initial, model.initial)
      assert.deepStrictEqual(again.adapter, model.adapter)
      // Settings and values are the model's own, so they can be read for it.
      assert.deepStrictEqual(yield* Peft.read(folder, { layout: model.layout, adapter: model.adapter! }), model.initial)
    }).pipe(Effect.scoped)
  )

  it.effect.each(Fixtures.names)("has the same gradient whatever is computed again: %s", (name) =>
    Effect.gen(function* () {
      const { inputIds } = Fixtures.expected(name)
      const model = yield* PretrainedModel.loadAdapter(Fixtures.folder(name), Fixtures.adapterFolder(name))
      const cells = Fixtures.grid([[inputIds[0]!, inputIds[1]!], [inputIds[2]!]])
      const kept = yield* Fixtures.gradientOf(model, cells, model.initial, false)
      const size = Math.max(...kept.gradient.map(Math.abs))
      assert.isAbove(size, 0)
      for (const remat of ["parts", "elements"] as const) {
        const again = yield* Fixtures.gradientOf(model, cells, model.initial, remat)
        assert.isAbove(again.nodes, kept.nodes)
        assert.isBelow(Fixtures.maxDifference(again.gradient, kept.gradient) / size, 1e-5)
      }
    }).pipe(Effect.scoped)
  )
})
