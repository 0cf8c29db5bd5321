/**
 * Creates a small model from scratch: Qwen2's architecture, seeded values, a vocabulary of characters. For `npm start`
 * and tests.
 *
 * Initial embeddings are normal with standard deviation 0.02 by default, linear layers with 1/sqrt(in), those that
 * write to the residual stream (o and down) with 1/sqrt(2 layers) of that; norms start at one, biases at zero.
 */
import { Effect, Result } from "effect"
import * as Pieces from "../base/Pieces.ts"
import { uniform } from "../base/CounterRandom.ts"
import * as Characters from "./Characters.ts"
import * as Lora from "./Lora.ts"
import type { Model } from "./Model.ts"
import { type ModelConfig, parse } from "./ModelConfig.ts"
import * as ModelFolder from "./ModelFolder.ts"
import * as Parameters from "./Parameters.ts"
import * as Peft from "./Peft.ts"
import * as Tensors from "./Tensors.ts"
import * as Weights from "./Weights.ts"

export interface Options {
  readonly characters: string
  readonly seed: number
  readonly hiddenSize?: number
  readonly layers?: number
  /** Max sequence length, tokens. */
  readonly maxPositions?: number
  /**
   * Standard deviation of initial embeddings; 0.25 learns much faster if a task is about equality or order of
   * characters.
   */
  readonly embeddingDeviation?: number
}

const headDim = 16

const configOf = (vocabSize: number, { hiddenSize = 64, layers = 2, maxPositions = 64 }: Options): ModelConfig =>
  // The whole configuration is given here, so parsing succeeds.
  Result.getOrThrow(
    parse({
      architectures: ["Qwen2ForCausalLM"],
      model_type: "qwen2",
      hidden_act: "silu",
      vocab_size: vocabSize,
      hidden_size: hiddenSize,
      num_hidden_layers: layers,
      num_attention_heads: hiddenSize / headDim,
      num_key_value_heads: hiddenSize / headDim / 2,
      head_dim: headDim,
      intermediate_size: 2 * hiddenSize,
      max_position_embeddings: maxPositions,
      rms_norm_eps: 1e-6,
      rope_theta: 10_000,
      tie_word_embeddings: true,
      eos_token_id: Characters.endId,
      torch_dtype: "float32"
    })
  )

const normal = (seed: number, stream: number, at: number): number =>
  Math.sqrt(-2 * Math.log(1 - uniform(seed, stream, 2 * at))) *
  Math.cos(2 * Math.PI * uniform(seed, stream, 2 * at + 1))

const deviationOf = (name: string, shape: ReadonlyArray<number>, layers: number, ofEmbeddings: number): number => {
  if (name === Tensors.embedding) return ofEmbeddings
  const deviation = 1 / Math.sqrt(shape[1] ?? 1)
  return /\.(o_proj|down_proj)\.weight$/.test(name) ? deviation / Math.sqrt(2 * layers) : deviation
}

function* initialPieces(
  layout: Parameters.Layout,
  { layers }: ModelConfig,
  { embeddingDeviation = 0.02, seed }: Options
): Pieces.Pieces<Float32Array> {
  const values = new Float32Array(layout.size)
  for (const [index, slot] of layout.slots.entries()) {
    const view = Parameters.view(values, slot)
    if (slot.name.endsWith("norm.weight")) view.fill(1)
    if (slot.shape.length < 2) continue
    yield
    const deviation = deviationOf(slot.name, slot.shape, layers, embeddingDeviation)
    for (let at = 0; at < view.length; at++) view[at] = deviation * normal(seed, index, at)
  }
  return values
}

export const make = (options: Options): Model => Pieces.run(makePieces(options))

/** Like `make`, yielding to the event loop: a hundred thousand values take 50 ms. */
export const makeYielding = (options: Options): Effect.Effect<Model> => Pieces.yielding(() => makePieces(options))

function* makePieces(options: Options): Pieces.Pieces<Model> {
  const tokenizer = Characters.make(options.characters)
  const config = configOf(tokenizer.vocabularySize, options)
  const layout = Parameters.layout(Tensors.all(config))
  return {
    name: `tiny-${config.hiddenSize}x${config.layers}-${tokenizer.vocabularySize}`,
    config,
    tokenizer,
    weights: new Map(),
    layout,
    initial: yield* initialPieces(layout, config, options),
    adapter: undefined,
    write: Effect.fnUntraced(function* (folder, parameters) {
      yield* ModelFolder.write(folder, config, Weights.fromVector(layout, parameters))
      yield* ModelFolder.writeJson(folder, Characters.files(options.characters))
    })
  }
}

/**
 * Freezes the model at these parameters and adds an adapter. Throws `RangeError` for names that are not linear layers.
 */
export const withAdapter = (
  model: Model,
  parameters: Float32Array,
  adapter: Lora.LoraSettings,
  seed: number
): Model => {
  const problem = Lora.problemOf(adapter, model.config)
  if (problem !== undefined) throw new RangeError(problem)
  const layout = Lora.layout(model.config, adapter)
  return {
    ...model,
    weights: Weights.fromVector(model.layout, parameters),
    layout,
    initial: Lora.initial(layout, seed),
    adapter,
    write: (folder, trained) => Peft.write(folder, { layout, adapter, parameters: trained, base: model.name })
  }
}
