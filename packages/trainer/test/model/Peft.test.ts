import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"
import * as Lora from "../../src/model/Lora.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import llama from "../fixtures/models/llama/config.json" with { type: "json" }
import * as Fixtures from "./Fixtures.ts"

const config = Result.getOrThrow(ModelConfig.parse(llama))
const adapter: Lora.LoraSettings = { r: 4, alpha: 8, rslora: false, targetModules: Tensors.projectionNames }
const layout = Lora.layout(config, adapter)

describe("Lora", () => {
  it("scales by alpha / r, and by alpha / sqrt(r) when rank-stabilised", () => {
    assert.strictEqual(Lora.scaleOf({ ...adapter, r: 16, alpha: 32 }), 2)
    assert.strictEqual(Lora.scaleOf({ ...adapter, r: 16, alpha: 32, rslora: true }), 8)
  })

  it("has A [r, in] and B [out, r] of every linear layer, one after the other", () => {
    assert.strictEqual(layout.slots.length, 2 * 7 * 2)
    const { name, shape } = layout.slots.find((slot) => slot.name.includes("layers.1.mlp.down_proj.lora_A"))!
    assert.strictEqual(name, "model.layers.1.mlp.down_proj.lora_A.weight")
    assert.deepStrictEqual(shape, [4, 48])
    layout.slots.forEach(({ offset, size }, i) => {
      assert.strictEqual(offset + size, layout.slots[i + 1]?.offset ?? layout.size)
    })
  })

  it("starts with A uniform in plus or minus 1 / sqrt(in) and B at zero, the same for a seed", () => {
    const values = Lora.initial(layout, 5)
    assert.deepStrictEqual(values, Lora.initial(layout, 5))
    assert.notDeepEqual(values, Lora.initial(layout, 6))
    for (const slot of layout.slots) {
      const view = Parameters.view(values, slot)
      if (slot.name.includes("lora_B")) {
        assert.isTrue(view.every((x) => x === 0))
        continue
      }
      const bound = 1 / Math.sqrt(slot.shape[1]!)
      assert.isTrue(view.every((x) => Math.abs(x) <= bound))
      // A uniform variable's deviation is bound / sqrt(3); that of 128 or more draws lies within a quarter of it.
      const deviation = Math.sqrt(view.reduce((sum, x) => sum + x * x, 0) / view.length)
      assert.closeTo(deviation / (bound / Math.sqrt(3)), 1, 0.25)
    }
    const [first, , second] = layout.slots.map((slot) => Parameters.view(values, slot))
    assert.notDeepEqual(first, second)
  })
})

const same = () => undefined

layer(NodeServices.layer)("Peft", (it) => {
  const written = Effect.fnUntraced(function* (change: (config: Record<string, unknown>) => void) {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    yield* fs.copy(Fixtures.adapterFolder("llama"), folder)
    const path = `${folder}/adapter_config.json`
    const found = JSON.parse(yield* fs.readFileString(path))
    change(found)
    yield* fs.writeFileString(path, JSON.stringify(found))
    return folder
  })

  it.effect("reads the settings that PEFT wrote", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Peft.readSettings(Fixtures.adapterFolder("llama")), adapter)
      const stabilised = yield* Peft.readSettings(Fixtures.adapterFolder("qwen2"))
      assert.deepStrictEqual(stabilised, { ...adapter, alpha: 6, rslora: true })
      const some = yield* Peft.readSettings(Fixtures.adapterFolder("smollm"))
      assert.deepStrictEqual(some.targetModules, ["q_proj", "v_proj"])
    })
  )

  it.effect("takes the layers from the weights where the settings name none, as SkyRL writes them", () =>
    Effect.gen(function* () {
      for (const forget of [
        (found: Record<string, unknown>) => (found["target_modules"] = null),
        (found: Record<string, unknown>) => delete found["target_modules"]
      ]) {
        assert.deepStrictEqual(yield* Peft.readSettings(yield* written(forget)), adapter)
      }
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    ["peft_type", "ADALORA", /it is "ADALORA", not LORA/],
    ["bias", "lora_only", /option bias = "lora_only" is not supported/],
    ["lora_bias", true, /option lora_bias/],
    ["fan_in_fan_out", true, /option fan_in_fan_out/],
    ["rank_pattern", { q_proj: 8 }, /option rank_pattern/],
    ["layers_to_transform", [0], /option layers_to_transform/],
    ["init_lora_weights", "pissa", /option init_lora_weights = "pissa"/],
    ["an_option_of_tomorrow", 1, /option an_option_of_tomorrow = 1 is not supported/],
    ["target_modules", ["wte"], /unknown linear layer "wte"/],
    ["r", 0, /its rank is 0/],
    ["r", "4", /lacks valid r, lora_alpha or target_modules/]
  ] as const)("refuses a folder whose %s is %j", ([key, value, reason]) =>
    Effect.gen(function* () {
      const folder = yield* written((found) => (found[key] = value))
      const error = yield* Effect.flip(Peft.readSettings(folder))
      assert.match(error.message, reason)
      assert.include(error.message, folder)
    }).pipe(Effect.scoped)
  )

  it.effect("refuses an adapter of another rank, scale, shape or of other layers", () =>
    Effect.gen(function* () {
      const failure = (change: (config: Record<string, unknown>) => void, wanted = { layout, adapter }) =>
        Effect.flatMap(written(change), (folder) => Effect.flip(Peft.read(folder, wanted)))
      assert.match((yield* failure((found) => (found["r"] = 8))).message, /its rank is 8, the model's 4/)
      assert.match((yield* failure((found) => (found["lora_alpha"] = 16))).message, /its scale is 4, the model's 2/)
      const wide = Lora.layout({ ...config, hiddenSize: 64 }, adapter)
      assert.match(
        (yield* failure(same, { layout: wide, adapter })).message,
        /q_proj\.lora_A\.weight is \[4, 32\], the model needs \[4, 64\]/
      )
      const fewer = Lora.layout(config, { ...adapter, targetModules: ["q_proj"] })
      assert.match((yield* failure(same, { layout: fewer, adapter })).message, /the model's adapter does not have it/)
      const deeper = Lora.layout({ ...config, layers: 3 }, adapter)
      assert.match((yield* failure(same, { layout: deeper, adapter })).message, /layers\.2\..* is missing/)
    }).pipe(Effect.scoped)
  )

  it.effect("writes bf16 where asked, under PEFT's names, and leaves nothing else behind", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = `${yield* fs.makeTempDirectoryScoped()}/new/adapter`
      const parameters = Lora.initial(layout, 1)
      yield* Peft.write(folder, { layout, adapter, parameters, base: "owner/model", type: "BF16" })
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).toSorted(), [
        "adapter_config.json",
        "adapter_model.safetensors"
      ])
      const { tensors } = yield* Safetensors.head(`${folder}/adapter_model.safetensors`)
      const theirs = yield* Safetensors.head(`${Fixtures.adapterFolder("llama")}/adapter_model.safetensors`)
      assert.deepStrictEqual([...tensors.keys()].toSorted(), [...theirs.tensors.keys()].toSorted())
      const found = yield* Peft.read(folder, { layout, adapter })
      // Half of the last of bfloat16's 8 bits.
      parameters.forEach((x, i) => assert.isAtMost(Math.abs(found[i]! - x), Math.abs(x) * 2 ** -8))
    }).pipe(Effect.scoped)
  )
})
