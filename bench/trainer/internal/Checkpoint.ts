/**
 * Models of random weights in the measured shapes: Qwen2's architecture in Hugging Face's format, so that ours and the
 * reference load the same files. Kept in the system's temporary folder between runs.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Characters from "@atropos/trainer/model/Characters"
import * as ModelConfig from "../../../packages/trainer/src/model/ModelConfig.ts"
import * as ModelFolder from "../../../packages/trainer/src/model/ModelFolder.ts"
import * as Safetensors from "../../../packages/trainer/src/model/file/Safetensors.ts"
import * as Tensors from "@atropos/trainer/model/Tensors"
import { Effect, Result } from "effect"
import { existsSync, mkdirSync, renameSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

interface Shape {
  readonly config: ModelConfig.ModelConfig
  readonly dtype: "F32" | "BF16"
}

const shape = (
  [hiddenSize, layers, intermediateSize]: readonly [number, number, number],
  [heads, kvHeads]: readonly [number, number],
  vocabSize: number,
  own: { readonly [key: string]: unknown } = {}
): ModelConfig.ModelConfig =>
  Result.getOrThrow(
    ModelConfig.parse({
      model_type: "qwen2",
      hidden_act: "silu",
      vocab_size: vocabSize,
      hidden_size: hiddenSize,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: kvHeads,
      head_dim: hiddenSize / heads,
      intermediate_size: intermediateSize,
      max_position_embeddings: 32_768,
      rms_norm_eps: 1e-6,
      rope_theta: 1e6,
      tie_word_embeddings: true,
      eos_token_id: 0,
      ...own
    })
  )

const experts = { model_type: "qwen3_moe", num_experts: 128, num_experts_per_tok: 8, norm_topk_prob: true }

/** By name; "0.5B" and "1.5B" are those of Qwen2.5, "MoE" has 128 experts in each layer, 216M parameters in all. */
export const shapes = {
  "9M": { config: shape([256, 8, 704], [8, 4], 8192), dtype: "F32" },
  "100M": { config: shape([768, 12, 2304], [12, 4], 16_384), dtype: "F32" },
  "0.5B": { config: shape([896, 24, 4864], [14, 2], 151_936), dtype: "BF16" },
  MoE: { config: shape([512, 8, 1408], [8, 2], 8192, { ...experts, moe_intermediate_size: 128 }), dtype: "BF16" },
  "1.5B": { config: shape([1536, 28, 8960], [12, 2], 151_936), dtype: "BF16" }
} as const satisfies { readonly [name: string]: Shape }
export type ShapeName = keyof typeof shapes

/** Reductions of a shape, so that shapes that would take too long are measured in part. */
export interface Cut {
  readonly layers?: number | undefined
  readonly vocabulary?: number | undefined
}

const cutTo = (config: ModelConfig.ModelConfig, { layers, vocabulary }: Cut): ModelConfig.ModelConfig =>
  Result.getOrThrow(
    ModelConfig.parse({
      ...ModelConfig.encode(config),
      num_hidden_layers: layers ?? config.layers,
      vocab_size: vocabulary ?? config.vocabSize
    })
  )

/** Describes a shape for a row of a report. */
export const described = (name: ShapeName, { layers, vocabulary }: Cut): string => {
  const parts = [layers && `${layers} layers`, vocabulary && `${vocabulary} tokens`].filter(Boolean)
  return parts.length === 0 ? name : `${name} with ${parts.join(", ")}`
}

const deviation = 0.02

/**
 * Uniform numbers of the usual deviation, by a linear congruential generator, because there may be half a billion of
 * them.
 */
const fill = (values: Float32Array, seed: number): void => {
  let state = seed
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    values[i] = (state / 2 ** 31) * deviation * Math.sqrt(3)
  }
}

/** Values per write. */
const stretch = 2 ** 22

/** Writes the weights in parts: bfloat16, as models are published, or float32. */
const writeWeights = (folder: string, { config, dtype }: Shape) => {
  const tensors = Tensors.all(config)
  return Safetensors.writeParts(
    join(folder, ModelFolder.singleFile),
    tensors.map((tensor) => ({ ...tensor, dtype })),
    Effect.fnUntraced(function* (write) {
      for (const [index, { name, shape }] of tensors.entries()) {
        const elements = shape.reduce((product, size) => product * size, 1)
        for (let at = 0; at < elements; at += stretch) {
          const values = new Float32Array(Math.min(stretch, elements - at))
          if (name.endsWith("norm.weight")) values.fill(1)
          else if (shape.length > 1) fill(values, index + 1 + at)
          const stored = dtype === "F32" ? values : Safetensors.toBfloat16(values)
          yield* write(new Uint8Array(stored.buffer))
        }
      }
    })
  )
}

/** The folder of a shape's model, optionally cut; created if missing. */
export const folderOf = async (name: ShapeName, { layers, vocabulary }: Cut = {}): Promise<string> => {
  const { config, dtype }: Shape = shapes[name]
  const cut = [layers && `-${layers}-layers`, vocabulary && `-${vocabulary}-tokens`].filter(Boolean).join("")
  const folder = join(tmpdir(), `atropos-bench-model-${name}${cut}`)
  if (existsSync(folder)) return folder
  const shape = { config: cutTo(config, { layers, vocabulary }), dtype }
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(unfinished)
  await writeWeights(unfinished, shape).pipe(
    Effect.andThen(ModelFolder.writeJson(unfinished, { [ModelFolder.configFile]: ModelConfig.encode(shape.config) })),
    Effect.andThen(ModelFolder.writeJson(unfinished, Characters.files("abcdefghij"))),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )
  renameSync(unfinished, folder)
  return folder
}
