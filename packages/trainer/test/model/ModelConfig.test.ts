import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as RopeScaling from "../../src/model/family/RopeScaling.ts"
import llama from "../fixtures/models/llama/config.json" with { type: "json" }
import qwen3 from "../fixtures/models/qwen3/config.json" with { type: "json" }

/** As Qwen2.5-0.5B-Instruct publishes it (transformers 4's form). */
const qwen25 = {
  architectures: ["Qwen2ForCausalLM"],
  attention_dropout: 0.0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: "silu",
  hidden_size: 896,
  initializer_range: 0.02,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  max_window_layers: 21,
  model_type: "qwen2",
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  sliding_window: 32768,
  tie_word_embeddings: true,
  torch_dtype: "bfloat16",
  use_cache: true,
  use_sliding_window: false,
  vocab_size: 151936
}

/** Llama 3.2's scaling, in transformers 4's form. */
const llama3 = {
  factor: 32.0,
  high_freq_factor: 4.0,
  low_freq_factor: 1.0,
  original_max_position_embeddings: 8192,
  rope_type: "llama3"
}

const parsed = (json: unknown) => Result.getOrThrow(ModelConfig.parse(json))
const ropes = (json: unknown) => parsed(json).ropes
const refusal = (json: unknown) => Result.getOrThrow(Result.flip(ModelConfig.parse(json)))

describe("ModelConfig.parse", () => {
  it("reads a Qwen2.5 of transformers 4", () => {
    const config = parsed(qwen25)
    assert.strictEqual(config.headDim, 64)
    assert.strictEqual(config.ropes[0]!.theta, 1e6)
    assert.deepStrictEqual(config.eosTokenIds, [151645])
    assert.isTrue(config.hasQkvBias && config.hasTiedHead)
    assert.isFalse(config.hasOutputBias || config.hasMlpBias || config.qkNorm !== undefined)
  })

  it("reads a Qwen3 of transformers 5, whose heads are wider than hidden / heads", () => {
    const config = parsed(qwen3)
    assert.strictEqual(config.headDim, 16)
    assert.notStrictEqual(config.headDim, config.hiddenSize / config.heads)
    assert.strictEqual(config.ropes[0]!.theta, 1e6)
    assert.strictEqual(config.qkNorm, "heads")
    assert.isFalse(config.hasQkvBias || config.hasTiedHead)
  })

  it("reads RoPE scaling in the old place and in the new one alike", () => {
    const { rope_parameters: parameters, ...rest } = llama
    const { rope_theta, ...scaling } = parameters
    assert.deepStrictEqual(ropes({ ...rest, rope_theta, rope_scaling: scaling }), ropes(llama))
    const { rope_type, ...untyped } = scaling
    assert.deepStrictEqual(ropes({ ...rest, rope_theta, rope_scaling: { ...untyped, type: rope_type } }), ropes(llama))
    assert.strictEqual(ropes({ ...rest, rope_scaling: null })[0]!.theta, 10_000)
  })

  it.each([
    [
      { ...qwen25, model_type: "gpt_neox" },
      /"gpt_neox" is not supported; supported are llama \(Llama 2 and 3, .*granite/
    ],
    [{}, /"model_type" is missing/],
    [{ ...qwen25, hidden_size: "896" }, /hidden_size/],
    [{ ...qwen25, quantization_config: { quant_method: "gptq" } }, /quantization_config/],
    [{ ...qwen25, model_type: "gpt_oss", quantization_config: { quant_method: "mxfp4" } }, /mxfp4 .* in bfloat16/],
    [{ ...qwen25, layer_types: ["full_attention", "sliding_attention"] }, /names 2 layers, num_hidden_layers 24/],
    [
      { ...qwen25, layer_types: Array(24).fill("linear_attention") },
      /linear_attention \(layer_types\) are not supported/
    ],
    [{ ...qwen25, use_sliding_window: true, sliding_window: null }, /need a sliding_window/],
    [{ ...llama, layer_types: ["full_attention", "sliding_attention"] }, /no layers of type sliding_attention/],
    [{ ...qwen25, hidden_act: "gelu" }, /activation gelu/],
    [
      { ...qwen25, rope_scaling: { type: "mystery", factor: 4.0 } },
      /"mystery" is not supported; supported are default/
    ],
    [{ ...qwen25, rope_scaling: { rope_type: "llama3", factor: 8 } }, /needs factor, low_freq_factor/],
    [{ ...qwen25, rope_scaling: { rope_type: "linear" } }, /linear needs a factor/],
    [{ ...qwen25, partial_rotary_factor: 0.5 }, /partial_rotary_factor 0.5\) is not supported for a qwen2/],
    [{ ...qwen25, model_type: "phi3", partial_rotary_factor: 0.08 }, /partial_rotary_factor 0.08 rotates 5 of the 64/],
    [
      { ...qwen25, rope_scaling: { rope_type: "longrope", short_factor: [1], long_factor: [1] } },
      /has 1 factors; .* need 32/
    ],
    [{ ...qwen25, num_key_value_heads: 3 }, /14 heads cannot share 3 key-value heads/],
    [{ ...qwen25, num_attention_heads: 13, num_key_value_heads: 13 }, /an even head_dim/]
  ])("names what is wrong or not built: %#", (json, reason) => {
    assert.match(refusal(json), reason)
  })

  it("reads back what it encoded", () => {
    const scaled = [
      llama,
      qwen3,
      qwen25,
      { ...llama, rope_parameters: { rope_type: "linear", factor: 4, rope_theta: 1e4 } }
    ]
    for (const json of scaled) {
      const { file: _, ...config } = parsed(json)
      const { file: __, ...again } = parsed(ModelConfig.encode(parsed(json)))
      assert.deepStrictEqual(again, config)
    }
  })
})

describe("ModelConfig.endTokens", () => {
  it("takes one token or several, and none where the file names none", () => {
    assert.deepStrictEqual(ModelConfig.endTokens('{"eos_token_id": [5, 6]}'), Option.some([5, 6]))
    assert.deepStrictEqual(ModelConfig.endTokens('{"eos_token_id": 5}'), Option.some([5]))
    assert.deepStrictEqual(ModelConfig.endTokens('{"eos_token_id": null}'), Option.none())
    assert.deepStrictEqual(ModelConfig.endTokens("{}"), Option.none())
    assert.deepStrictEqual(ModelConfig.endTokens("no JSON"), Option.none())
  })
})

describe("RopeScaling.frequencies", () => {
  const base = { width: 64, theta: 500_000, scaling: undefined }
  const of = (scaling: ModelConfig.RopeScaling | undefined, positions = 1024) =>
    RopeScaling.frequencies({ ...base, scaling }, positions)

  it("falls from one turn in 2 pi positions by equal factors", () => {
    const found = of(undefined)
    assert.strictEqual(found.length, 32)
    assert.strictEqual(found[0], 1)
    for (let i = 1; i < 32; i++) assert.closeTo(found[i]! / found[i - 1]!, 500_000 ** (-1 / 32), 1e-12)
  })

  it("keeps Llama 3's fast frequencies, divides the slow ones, and goes over smoothly", () => {
    const [rope] = ropes({ ...llama, rope_parameters: null, rope_scaling: llama3 })
    const plain = of(undefined)
    const ratios = of(rope!.scaling).map((frequency, i) => frequency / plain[i]!)
    const turns = plain.map((frequency) => (8192 * frequency) / (2 * Math.PI))
    ratios.forEach((ratio, i) => {
      if (turns[i]! > 4) assert.strictEqual(ratio, 1)
      else if (turns[i]! < 1) assert.closeTo(ratio, 1 / 32, 1e-15)
      else assert.isTrue(ratio > 1 / 32 && ratio < 1)
      if (i > 0) assert.isAtMost(ratio, ratios[i - 1]!)
    })
    assert.isTrue(turns.some((turn) => turn > 1 && turn < 4))
  })

  it("divides all frequencies where scaling is linear", () => {
    assert.deepStrictEqual(
      of({ kind: "linear", factor: 4 }),
      of(undefined).map((frequency) => frequency / 4)
    )
  })

  it("has longrope's long factors only where the model is used beyond the original positions", () => {
    const scaling = {
      kind: "longrope",
      short: Array<number>(32).fill(1),
      long: Array<number>(32).fill(2),
      originalMaxPositions: 64,
      magnitude: 1.1
    } as const
    assert.deepStrictEqual(of(scaling, 64), of(undefined))
    assert.deepStrictEqual(
      of(scaling, 65),
      of(undefined).map((frequency) => frequency / 2)
    )
  })
})
