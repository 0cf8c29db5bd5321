/**
 * Models of random weights in the shapes that are measured: Qwen2's architecture, float32, in Hugging Face's form, so
 * that ours and the reference load the same files. Kept in the system's temporary folder from one run to the next.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Characters from "@atropos/trainer/model/Characters"
import type { ModelConfig } from "../../../packages/trainer/src/model/ModelConfig.ts"
import * as ModelFolder from "../../../packages/trainer/src/model/ModelFolder.ts"
import * as Parameters from "../../../packages/trainer/src/model/Parameters.ts"
import * as Tensors from "@atropos/trainer/model/Tensors"
import * as Weights from "../../../packages/trainer/src/model/Weights.ts"
import { Effect } from "effect"
import { existsSync, renameSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const shape = (
  [hiddenSize, layers, intermediateSize]: readonly [number, number, number],
  [heads, kvHeads]: readonly [number, number],
  vocabSize: number
): ModelConfig => ({
  architecture: "qwen2",
  vocabSize,
  hiddenSize,
  layers,
  heads,
  kvHeads,
  headDim: hiddenSize / heads,
  intermediateSize,
  maxPositions: 4096,
  ropeTheta: 1e6,
  ropeScaling: undefined,
  normEpsilon: 1e-6,
  hasTiedHead: true,
  hasQkvBias: true,
  hasOutputBias: false,
  hasMlpBias: false,
  hasQkNorm: false,
  eosTokenIds: [0]
})

/** By name; "0.5B" is Qwen2.5-0.5B's. */
export const shapes = {
  "9M": shape([256, 8, 704], [8, 4], 8192),
  "100M": shape([768, 12, 2304], [12, 4], 16_384),
  "0.5B": shape([896, 24, 4864], [14, 2], 151_936)
} as const
export type ShapeName = keyof typeof shapes

const deviation = 0.02

/** Uniform numbers of the usual deviation: a linear congruence, because there may be half a billion of them. */
const fill = (values: Float32Array, seed: number): void => {
  let state = seed
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    values[i] = (state / 2 ** 31) * deviation * Math.sqrt(3)
  }
}

/** The folder of a shape's model; made if it is not there. */
export const folderOf = async (name: ShapeName): Promise<string> => {
  const folder = join(tmpdir(), `atropos-bench-model-${name}`)
  if (existsSync(folder)) return folder
  const config = shapes[name]
  const layout = Parameters.layout(Tensors.all(config))
  const values = new Float32Array(layout.size)
  for (const [index, slot] of layout.slots.entries()) {
    const view = Parameters.view(values, slot)
    if (slot.name.endsWith("norm.weight")) view.fill(1)
    else if (slot.shape.length > 1) fill(view, index + 1)
  }
  const unfinished = `${folder}-${process.pid}`
  await ModelFolder.write(unfinished, config, Weights.fromVector(layout, values)).pipe(
    Effect.andThen(ModelFolder.writeJson(unfinished, Characters.files("abcdefghij"))),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )
  renameSync(unfinished, folder)
  return folder
}
