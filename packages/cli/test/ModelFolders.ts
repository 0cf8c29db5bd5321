/**
 * Folders of models as a user has them: each architecture with random weights, 2048 positions and more, and a tokenizer
 * of bytes.
 */
import { Effect, FileSystem, Result } from "effect"
import * as CounterRandom from "../../trainer/src/base/CounterRandom.ts"
import * as ModelConfig from "../../trainer/src/model/ModelConfig.ts"
import * as Safetensors from "../../trainer/src/model/file/Safetensors.ts"
import * as Tensors from "../../trainer/src/model/Tensors.ts"

export const architectures = ["llama", "qwen2", "qwen3"] as const
export type Architecture = (typeof architectures)[number]

const special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

const isPrintable = (byte: number): boolean =>
  (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)

/** The characters that byte-level tokenizers write bytes as: printable ones as they are, the others from 256 on. */
const byteCharacters = (): ReadonlyArray<string> => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++))
}

const tokenizer = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: special.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true
  })),
  normalizer: null,
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null,
  decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  model: {
    type: "BPE",
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    vocab: Object.fromEntries([...special, ...byteCharacters()].map((piece, id) => [piece, id])),
    merges: []
  }
}

const template =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

const configOf = (architecture: Architecture, positions: number) => ({
  model_type: architecture,
  architectures: [`${architecture}ForCausalLM`],
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  ...(architecture === "qwen3" && { head_dim: 16 }),
  vocab_size: 320,
  max_position_embeddings: positions,
  rms_norm_eps: 1e-6,
  hidden_act: "silu",
  rope_theta: 10_000,
  tie_word_embeddings: architecture !== "llama",
  bos_token_id: 0,
  eos_token_id: 2
})

/** Writes the folder; the same values every time. */
export const write = Effect.fn("ModelFolders.write")(function* (
  folder: string,
  architecture: Architecture,
  { positions = 4096, type = "F32" }: { readonly positions?: number; readonly type?: "F32" | "BF16" } = {}
) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  const config = configOf(architecture, positions)
  const tensors = Tensors.all(Result.getOrThrow(ModelConfig.parse(config))).map(({ name, shape }, index) => {
    const isNorm = /norm/.test(name)
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) =>
      isNorm ? 1 : 0.2 * (CounterRandom.uniform(1, index, i) - 0.5)
    )
    return { name, shape, values }
  })
  yield* Safetensors.write(`${folder}/model.safetensors`, tensors, type)
  const json = { "config.json": config, "tokenizer.json": tokenizer }
  for (const [file, value] of Object.entries(json))
    yield* fs.writeFileString(`${folder}/${file}`, JSON.stringify(value))
  yield* fs.writeFileString(
    `${folder}/tokenizer_config.json`,
    JSON.stringify({ tokenizer_class: "PreTrainedTokenizerFast", eos_token: "<|im_end|>", chat_template: template })
  )
  return folder
})
