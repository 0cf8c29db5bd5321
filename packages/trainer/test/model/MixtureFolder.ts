/** A folder with a small mixture of experts of random weights, as Qwen3-MoE's files have it. */
import { Effect, FileSystem, Result } from "effect"
import { uniform } from "../../src/base/CounterRandom.ts"
import * as Characters from "../../src/model/Characters.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Safetensors from "../../src/model/file/Safetensors.ts"
import * as Tensors from "../../src/model/Tensors.ts"

const characters = "abcdefghijkl"

export const write = Effect.fnUntraced(function* (folder: string, changes: { readonly [key: string]: unknown } = {}) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  const json = {
    model_type: "qwen3_moe",
    vocab_size: Characters.make(characters).vocabularySize,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    max_position_embeddings: 64,
    rms_norm_eps: 1e-5,
    num_experts: 12,
    num_experts_per_tok: 3,
    moe_intermediate_size: 32,
    norm_topk_prob: true,
    mlp_only_layers: [1],
    ...changes
  }
  const config = Result.getOrThrow(ModelConfig.parse(json))
  const tensors = Tensors.all(config).map(({ name, shape }, stream) => {
    const deviation = name.includes("embed_tokens") ? 1 : 3 / Math.sqrt(shape.at(-1)!)
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) =>
      name.includes("norm") ? 1 + 0.3 * uniform(9, stream, i) : deviation * (2 * uniform(9, stream, i) - 1)
    )
    return { name, shape, values }
  })
  yield* Safetensors.write(`${folder}/${ModelFolder.singleFile}`, tensors, "F32")
  yield* ModelFolder.writeJson(folder, { [ModelFolder.configFile]: json, ...Characters.files(characters) })
  return folder
})
