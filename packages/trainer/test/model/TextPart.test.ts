/** A model of text and pictures, of which the part for text is loaded, trained and written. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { readFileSync } from "node:fs"
import * as Architectures from "./Architectures.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Safetensors from "../../src/model/Safetensors.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as Weights from "../../src/model/Weights.ts"

const text = Architectures.folder("qwen3-5")

layer(NodeServices.layer)("a model of text and pictures", (it) => {
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
      const { file: _, ...read } = config
      const { file: __, ...expected } = plain
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
})
