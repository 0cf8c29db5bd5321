/**
 * A small Llama with random weights, as a folder that SkyRL and we read.
 *
 * Llama, since SkyRL's adapter on it is LoRA as in PEFT. On Qwen3 its query, key and value layers share one matrix A,
 * gate and up another (`FusedLoRALinear`): equal at the start, but with different gradients from the first step.
 */
import { ModelConfig, ModelFolder, Parameters, TinyModel } from "@atropos/trainer"
import { Effect, Result } from "effect"
import * as Characters from "../../../packages/trainer/src/model/Characters.ts"
import * as Tensors from "../../../packages/trainer/src/model/Tensors.ts"
import * as Weights from "../../../packages/trainer/src/model/Weights.ts"

const characters = "abcdefghijklmnopqrstuvwxyz .,"

/** Writes it; returns its vocabulary and maximum length. */
export const write = Effect.fnUntraced(function* (folder: string) {
  const tiny = TinyModel.make({
    characters,
    seed: 3,
    hiddenSize: 64,
    layers: 2,
    maxPositions: 64,
    embeddingDeviation: 0.25
  })
  const config = Result.getOrThrow(ModelConfig.parse({ ...tiny.config.file, model_type: "llama" }))
  const layout = Parameters.layout(Tensors.all(config))
  const values = new Float32Array(layout.size)
  const known = new Map(tiny.layout.slots.map((slot) => [slot.name, slot]))
  for (const slot of layout.slots) {
    // Every tensor of Llama exists in Qwen2, too.
    Parameters.view(values, slot).set(Parameters.view(tiny.initial, known.get(slot.name)!))
  }
  yield* ModelFolder.write(folder, config, Weights.fromVector(layout, values))
  yield* ModelFolder.writeJson(folder, Characters.files(characters))
  return { vocabSize: config.vocabSize, maxPositions: config.maxPositions, parameters: layout.size }
})
