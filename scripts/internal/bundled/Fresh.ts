/** The bundled model before its training: a Llama of five million parameters with seeded values. */
import type { Tokenizer } from "@atropos/core"
import { Effect, Result } from "effect"
import { uniform } from "../../../packages/trainer/src/base/CounterRandom.ts"
import type { Model } from "../../../packages/trainer/src/model/Model.ts"
import { parse } from "../../../packages/trainer/src/model/ModelConfig.ts"
import * as Parameters from "../../../packages/trainer/src/model/Parameters.ts"
import * as Tensors from "../../../packages/trainer/src/model/Tensors.ts"

const layers = 6

/** Box-Muller transform of two uniform numbers. */
const normal = (seed: number, stream: number, at: number): number =>
  Math.sqrt(-2 * Math.log(1 - uniform(seed, stream, 2 * at))) *
  Math.cos(2 * Math.PI * uniform(seed, stream, 2 * at + 1))

const deviationOf = (name: string, [, inputs = 1]: ReadonlyArray<number>): number => {
  if (name === Tensors.embedding) return 0.05
  const deviation = 1 / Math.sqrt(inputs)
  return name.endsWith("o_proj.weight") || name.endsWith("down_proj.weight")
    ? deviation / Math.sqrt(2 * layers)
    : deviation
}

export const make = ({
  end,
  maxPositions,
  seed,
  tokenizer
}: {
  readonly tokenizer: Tokenizer.TokenizerShape
  readonly maxPositions: number
  readonly seed: number
  readonly end: string
}): { readonly file: object; readonly model: Model } => {
  const [endId] = tokenizer.encode(end)
  const file = {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_act: "silu",
    vocab_size: Math.ceil(tokenizer.vocabularySize / 64) * 64,
    hidden_size: 256,
    num_hidden_layers: layers,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 64,
    intermediate_size: 832,
    max_position_embeddings: maxPositions,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    attention_bias: false,
    mlp_bias: false,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: endId,
    pad_token_id: 0,
    torch_dtype: "bfloat16"
  }
  const config = Result.getOrThrow(parse(file))
  const layout = Parameters.layout(Tensors.all(config))
  const initial = new Float32Array(layout.size)
  for (const [stream, slot] of layout.slots.entries()) {
    const view = Parameters.view(initial, slot)
    const deviation = deviationOf(slot.name, slot.shape)
    for (let at = 0; at < view.length; at++) {
      view[at] = slot.shape.length < 2 ? 1 : deviation * normal(seed, stream, at)
    }
  }
  const model: Model = {
    name: "bundled",
    config,
    tokenizer,
    weights: new Map(),
    layout,
    initial,
    adapter: undefined,
    write: () => Effect.void
  }
  return { file, model }
}
