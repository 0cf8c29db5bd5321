/** A model of text and pictures, of which the part for text is loaded, trained and written. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Logger, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { readFileSync } from "node:fs"
import * as Architectures from "./Architectures.ts"
import * as Lora from "../../src/model/Lora.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as Weights from "../../src/model/Weights.ts"

const text = Architectures.folder("qwen3-5")

layer(Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer))("a model of text and pictures", (it) => {
  it.effect("is its part for text", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const plain = yield* ModelFolder.readConfig(text)
      const entries = yield* ModelFolder.readEntries(text, plain)
      const tensors = yield* Effect.forEach(entries.values(), (entry) =>
        Effect.map(Safetensors.floats(entry), (values) => ({ values, shape: entry.shape }))
      )
      const names = [...entries.keys()].map((name) => name.replace(/^model\./, "model.language_model."))
      const written = [
        ...tensors.map((tensor, i) => ({ ...tensor, name: names[i]! })),
        { name: "model.visual.patch_embed.proj.weight", shape: [2], values: Float32Array.of(1, 2) },
        { name: "mtp.norm.weight", shape: [1], values: Float32Array.of(1) }
      ]
      yield* Safetensors.write(`${folder}/${ModelFolder.singleFile}`, written, "F32")
      const { tie_word_embeddings: tied, ...inner } = JSON.parse(readFileSync(`${text}/config.json`, "utf8"))
      yield* ModelFolder.writeJson(folder, {
        [ModelFolder.configFile]: {
          model_type: "qwen3_5",
          architectures: ["Qwen3_5ForConditionalGeneration"],
          tie_word_embeddings: tied,
          text_config: {
            ...inner,
            rope_parameters: { ...inner.rope_parameters, mrope_interleaved: true, mrope_section: [1, 1, 0] }
          },
          vision_config: { model_type: "qwen3_5_vision", depth: 1 }
        }
      })
      const config = yield* ModelFolder.readConfig(folder)
      const { file: _, textOf, ...read } = config
      const { file: __, textOf: ___, ...expected } = plain
      assert.strictEqual(textOf, "qwen3_5")
      assert.deepStrictEqual(read, expected)
      const found = yield* ModelFolder.readEntries(folder, config)
      for (const { name } of Tensors.all(config)) {
        assert.deepStrictEqual(
          yield* Safetensors.floats(found.get(name)!),
          yield* Safetensors.floats(entries.get(name)!)
        )
      }
      const values = new Map(
        yield* Effect.forEach(Tensors.all(config), ({ name, shape }) =>
          Effect.map(Safetensors.floats(found.get(name)!), (data): readonly [string, Weights.Tensor] => [
            name,
            { dtype: "float32", shape, data }
          ])
        )
      )
      yield* ModelFolder.write(`${folder}/written`, config, values)
      const again = yield* ModelFolder.readConfig(`${folder}/written`)
      assert.deepStrictEqual(
        [again.architecture, again.file["architectures"]],
        ["qwen3_5_text", ["Qwen3_5ForCausalLM"]]
      )
      assert.strictEqual((yield* ModelFolder.readEntries(`${folder}/written`, again)).size, Tensors.all(config).length)
    }).pipe(Effect.scoped)
  )

  it.effect("of another kind is refused by its name", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      yield* ModelFolder.writeJson(folder, {
        [ModelFolder.configFile]: { model_type: "qwen3_5", text_config: { model_type: "qwen3_5_moe_text" } }
      })
      const { message } = yield* Effect.flip(ModelFolder.readConfig(folder))
      assert.match(message, /the architecture "qwen3_5" is not supported/)
    }).pipe(Effect.scoped)
  )

  it.effect.each(["gemma3-pictures", "mistral3", "mistral3-ministral3"])(
    "has adapters with the names that PEFT gives them on the whole model, and reads those of the text alone: %s",
    (name) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const theirs = `${Architectures.folder(name)}/adapter`
        const { model, parameters } = yield* Architectures.load(Architectures.folder(name))
        const { adapter, config, layout } = model
        assert.deepStrictEqual(adapter.targetModules, Tensors.projectionNames)
        const written = { adapter, layout, parameters, base: "owner/model" }
        yield* Peft.write(`${folder}/whole`, { ...written, textOf: config.textOf })
        const tensors = yield* namesIn(`${folder}/whole`)
        assert.deepStrictEqual(tensors, yield* namesIn(theirs))
        const settings = JSON.parse(yield* fs.readFileString(`${folder}/whole/adapter_config.json`))
        const excluded = new RegExp(`^(?:${settings.exclude_modules})$`)
        assert.isTrue(excluded.test("model.vision_tower.encoder.layers.0.self_attn.q_proj"))
        for (const tensor of tensors) assert.isFalse(excluded.test(tensor))
        yield* Peft.write(`${folder}/alone`, written)
        assert.include((yield* namesIn(`${folder}/alone`)).join(), "base_model.model.model.layers.0.self_attn.q_proj")
        for (const from of ["whole", "alone"]) {
          assert.deepStrictEqual(yield* Peft.readSettings(`${folder}/${from}`), adapter)
          assert.deepStrictEqual(yield* Peft.read(`${folder}/${from}`, { adapter, layout }), parameters)
        }
      }).pipe(Effect.scoped)
  )

  it.effect(
    "is loaded with its tokenizer, and trained whole or with an adapter, which are written and load again",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const root = yield* fs.makeTempDirectoryScoped()
        const folder = `${root}/base`
        yield* fs.copy(Architectures.folder("gemma3-pictures"), folder)
        const vocab = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`t${at}`, at]))
        const untreated = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null }
        yield* ModelFolder.writeJson(folder, {
          "tokenizer.json": { ...untreated, added_tokens: [], model: { type: "WordLevel", vocab, unk_token: "t0" } },
          "tokenizer_config.json": { tokenizer_class: "PreTrainedTokenizerFast" },
          "chat_template.json": { chat_template: "{{ messages[0].content }}" }
        })
        const whole = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
        const changed = whole.initial.map((value) => value + 1)
        yield* whole.write(`${root}/whole`, changed)
        const again = yield* PretrainedModel.load(`${root}/whole`, { trains: "all", seed: 1 })
        assert.deepStrictEqual([again.config.architecture, again.config.textOf], ["gemma3_text", undefined])
        assert.deepStrictEqual([again.initial, again.config.eosTokenIds], [changed, [2, 5]])
        assert.strictEqual(
          again.tokenizer.applyChatTemplate([{ role: "user", content: "hi" }], { addGenerationPrompt: true }),
          "hi"
        )
        const trains = { r: 2, alpha: 4, rslora: false, targetModules: ["all-linear"] }
        const adapted = yield* PretrainedModel.load(folder, { trains, seed: 1 })
        yield* adapted.write(`${root}/adapter`, adapted.initial)
        assert.deepStrictEqual(
          yield* namesIn(`${root}/adapter`),
          yield* namesIn(`${Architectures.folder("gemma3-pictures")}/adapter`)
        )
        const loaded = yield* PretrainedModel.loadAdapter(folder, `${root}/adapter`)
        assert.deepStrictEqual(loaded.initial, adapted.initial)
      }).pipe(Effect.scoped)
  )

  it.effect("refuses an adapter that is on layers for pictures too", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const { model, parameters } = yield* Architectures.load(Architectures.folder("gemma3-pictures"))
      const { adapter, layout } = model
      yield* Peft.write(folder, { adapter, layout, parameters, base: "owner/model" })
      const more = [0, 1].map((at) => {
        const module = "base_model.model.model.vision_tower.encoder.layers.0.self_attn.q_proj"
        return { name: Lora.nameOf(module, at === 0 ? "A" : "B"), shape: [2, 4], values: new Float32Array(8) }
      })
      const { tensors } = yield* Safetensors.head(`${folder}/adapter_model.safetensors`)
      const own = yield* Effect.forEach([...tensors], ([name, entry]) =>
        Effect.map(Safetensors.floats(entry), (values) => ({ name, shape: entry.shape, values }))
      )
      yield* Safetensors.write(`${folder}/adapter_model.safetensors`, [...own, ...more], "F32")
      const { message } = yield* Effect.flip(Peft.read(folder, { adapter, layout }))
      assert.match(message, /vision_tower.*q_proj.* .*the model's adapter does not have it/)
    }).pipe(Effect.scoped)
  )

  it.effect("tells once that layers for pictures are passed over", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const logger = Logger.make(({ message }) => told.push(JSON.stringify(message)))
      for (const name of ["gemma3-pictures", "gemma3"]) {
        const folder = Architectures.folder(name)
        const config = yield* ModelFolder.readConfig(folder)
        const entries = yield* ModelFolder.readEntries(folder, config)
        yield* Effect.provide(ModelFolder.tellTextPart(name, config, entries), Logger.layer([logger]))
      }
      assert.strictEqual(told.length, 1)
      assert.match(told[0]!, /using the text part.*"gemma3-pictures".*"tensorsPassedOver":2/)
    })
  )

  it.effect("has an output matrix of its own where its files have one, whatever is said or left out", () =>
    Effect.gen(function* () {
      const tied = yield* ModelFolder.readConfig(Architectures.folder("mistral3"))
      const own = yield* ModelFolder.readConfig(Architectures.folder("mistral3-ministral3"))
      assert.deepStrictEqual([tied.hasTiedHead, own.hasTiedHead], [true, false])
      assert.deepStrictEqual(
        [tied, own].map((config) => ModelConfig.encode(config)["tie_word_embeddings"]),
        [true, false]
      )
    })
  )
})

const namesIn = (adapter: string) =>
  Effect.map(Safetensors.head(`${adapter}/adapter_model.safetensors`), ({ tensors }) => [...tensors.keys()].toSorted())

interface Filled {
  readonly published: { readonly [key: string]: unknown }
  readonly filled: unknown
}
// Written by `scripts/make-text-config-fixture.py`.
const configs = JSON.parse(readFileSync(new URL("../fixtures/text-configs.json", import.meta.url), "utf8")) as Record<
  string,
  Filled
>

const parsed = (file: unknown) => Result.getOrThrowWith(ModelConfig.parse(file), (message) => new Error(message))

describe("a configuration of text and pictures", () => {
  test.each(Object.entries(configs))("is filled in as transformers does: %s", (_, { filled, published }) => {
    const { eosTokenIds, file: __, hasTiedHead: ___, textOf, ...read } = parsed(published)
    const { eosTokenIds: ends, file: ____, hasTiedHead: _____, textOf: ______, ...expected } = parsed(filled)
    assert.deepStrictEqual(read, expected)
    assert.deepStrictEqual(eosTokenIds, published["eos_token_id"] ?? ends)
    assert.strictEqual(textOf, published["model_type"])
  })

  test("has a cap on logits only as a model for text alone, as transformers does", () => {
    const text = { model_type: "gemma3_text", final_logit_softcapping: 30 }
    assert.strictEqual(parsed(text).logitCap, 30)
    const part = parsed({ model_type: "gemma3", text_config: text })
    assert.deepStrictEqual([part.logitCap, ModelConfig.encode(part)["final_logit_softcapping"]], [undefined, null])
  })

  test("rounds the bounds of yarn whatever types of layers say, as transformers does", () => {
    const yarn = { rope_type: "yarn", rope_theta: 1e6, factor: 4, original_max_position_embeddings: 32 }
    const ropesWith = (more: object) =>
      parsed({ model_type: "gemma3_text", rope_parameters: { full_attention: { ...yarn, ...more } } }).ropes
    assert.deepStrictEqual(ropesWith({ truncate: false }), ropesWith({}))
    const mistral = { model_type: "mistral", rope_parameters: yarn }
    const exact = { ...mistral, rope_parameters: { ...yarn, truncate: false } }
    assert.notDeepEqual(parsed(exact).ropes, parsed(mistral).ropes)
  })

  test("with quantised weights is refused", () => {
    const { published } = configs["mistral3 with ministral3"]!
    const refused = ModelConfig.parse({ ...published, quantization_config: { quant_method: "fp8" } })
    assert.match(Result.getOrThrow(Result.flip(refused)), /quantized weights \(quantization_config\)/)
  })
})
