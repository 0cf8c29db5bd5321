import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Characters from "../../src/model/Characters.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"

const characters = "cabdefghij= \n0\x7f"
const services = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)

const deviationIn = ({ initial, layout }: ReturnType<typeof TinyModel.make>, name: string): number => {
  const view = Parameters.view(
    initial,
    layout.slots.find((slot) => slot.name === name)!
  )
  return Math.sqrt(view.reduce((sum, x) => sum + x * x, 0) / view.length)
}

layer(services, { excludeTestServices: true })("a model from scratch", (it) => {
  it.effect("has 75,136 parameters with 12 characters and the end, and the same values for a seed", () =>
    Effect.sync(() => {
      const model = TinyModel.make({ characters: "abcdefghij= ", seed: 1 })
      assert.strictEqual(model.layout.size, 75_136)
      assert.deepStrictEqual(TinyModel.make({ characters: "abcdefghij= ", seed: 1 }).initial, model.initial)
      assert.notDeepEqual(TinyModel.make({ characters: "abcdefghij= ", seed: 2 }).initial, model.initial)
    })
  )

  it.effect(
    "begins with normal weights: 0.02 in the embedding, 1 / sqrt(in), less on the way back to the residual",
    () =>
      Effect.sync(() => {
        const model = TinyModel.make({ characters, seed: 3 })
        const deviation = (name: string) => deviationIn(model, name)
        // Of 1024 draws or more: within a tenth.
        const expected = [
          ["model.embed_tokens.weight", 0.02],
          ["model.layers.0.self_attn.q_proj.weight", 1 / 8],
          ["model.layers.1.self_attn.o_proj.weight", 1 / 8 / 2],
          ["model.layers.1.mlp.gate_proj.weight", 1 / 8],
          ["model.layers.0.mlp.down_proj.weight", 1 / Math.sqrt(128) / 2]
        ] as const
        for (const [name, value] of expected) assert.closeTo(deviation(name) / value, 1, 0.1, name)
        assert.strictEqual(deviation("model.layers.0.self_attn.q_proj.bias"), 0)
        assert.strictEqual(deviation("model.norm.weight"), 1)
        const other = TinyModel.make({ characters, seed: 3, embeddingDeviation: 0.25 })
        assert.closeTo(deviationIn(other, "model.embed_tokens.weight"), 0.25, 0.025)
        assert.closeTo(deviationIn(other, "model.layers.0.self_attn.q_proj.weight"), 1 / 8, 1 / 80)
      })
  )

  it.effect("loads from its folder with the same weights and tokenizer", () =>
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const model = TinyModel.make({ characters, seed: 3 })
      yield* model.write(folder, model.initial)
      const again = yield* PretrainedModel.load(folder, { trains: "all", seed: 0 })
      assert.deepStrictEqual(again.initial, model.initial)
      assert.deepStrictEqual(again.config, model.config)
      const text = "fed  = abc\n0\x7f "
      assert.deepStrictEqual(again.tokenizer.encode(text), model.tokenizer.encode(text))
      assert.strictEqual(again.tokenizer.decode(model.tokenizer.encode(text)), text)
      assert.strictEqual(again.tokenizer.vocabularySize, model.tokenizer.vocabularySize)
      assert.strictEqual(again.tokenizer.eosTokenId, Characters.endId)
    }).pipe(Effect.scoped)
  )

  it.prop("decodes what it encoded", [Schema.Array(Schema.Literals(Array.from(characters)))], ([text]) => {
    const { decode, encode } = Characters.make(characters)
    assert.strictEqual(decode(encode(text.join(""))), text.join(""))
    assert.isFalse(encode(text.join("")).includes(Characters.endId))
  })

  it.effect("leaves out characters it does not know, as the tokenizer in its folder does", () =>
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const model = TinyModel.make({ characters: "ab", seed: 1 })
      yield* model.write(folder, model.initial)
      const { tokenizer } = yield* PretrainedModel.load(folder, { trains: "all", seed: 0 })
      assert.deepStrictEqual(model.tokenizer.encode("abcé a"), [1, 2, 1])
      assert.deepStrictEqual(tokenizer.encode("abcé a"), [1, 2, 1])
    }).pipe(Effect.scoped)
  )
})
