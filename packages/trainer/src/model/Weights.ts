/**
 * Frozen weights: where each tensor lies in the model's files, or its values.
 *
 * Files are read in place when a graph is loaded: float32 as it is, bf16 and f16 turned into floats by the graph, in a
 * copy of its own (large ones come from the widened file of `WidenedWeights`).
 */
import type { DType } from "../graph/DType.ts"
import type { Graph } from "../graph/Graph.ts"
import type { External, Value } from "../graph/Value.ts"
import type { Layout } from "./Parameters.ts"
import { view } from "./Parameters.ts"

export interface Tensor {
  readonly dtype: Extract<DType, "float32" | "float16" | "bfloat16">
  readonly shape: ReadonlyArray<number>
  readonly data: Float32Array | External
}

/** By Hugging Face's name. Checked against the architecture when the model was loaded. */
export type Weights = ReadonlyMap<string, Tensor>

/** The tensors of a flat vector. */
export const fromVector = ({ slots }: Layout, values: Float32Array): Weights =>
  new Map(slots.map((slot) => [slot.name, { dtype: "float32", shape: slot.shape, data: view(values, slot) }]))

/** A tensor as a constant of a graph, in the graph's real type. */
export const constant = (graph: Graph, name: string, { data, dtype, shape }: Tensor): Value =>
  graph.cast(graph.initializer(name, dtype, shape, data), graph.real)
