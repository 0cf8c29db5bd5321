/**
 * Frozen weights: each tensor's location in the model's files, or its values. float32 is read in place; bf16 and f16
 * are converted by the graph into its own copy (large ones: `WidenedWeights`); quantized matrices (`QuantizedWeights`)
 * are matmul operands rather than constants.
 */
import type { DType } from "../graph/DType.ts"
import type { Graph } from "../graph/Graph.ts"
import * as QuantizedProduct from "../graph/QuantizedProduct.ts"
import type { External, Value } from "../graph/Value.ts"
import type { Layout } from "./Parameters.ts"
import { view } from "./Parameters.ts"

export interface Tensor {
  readonly dtype: Extract<DType, "float32" | "float16" | "bfloat16">
  readonly shape: ReadonlyArray<number>
  readonly data: Float32Array | External
}

/** A matrix in 8 or 4 bits; those of several experts are stacked. */
export type Matrix = Pick<QuantizedProduct.QuantizedMatrix, "shape" | "bits" | "blockSize" | "codes" | "scales"> & {
  readonly experts?: number
}

/** By Hugging Face name. Checked against the architecture when the model was loaded. */
export type Weights = ReadonlyMap<string, Tensor | Matrix>

export const isMatrix = (weight: Tensor | Matrix): weight is Matrix => "codes" in weight

export const elementsOf = ({ shape }: Tensor | Matrix): number => shape.reduce((product, size) => product * size, 1)

/** Bytes in a graph: floats, or codes with a float per block. */
export const bytesOf = (weight: Tensor | Matrix): number =>
  elementsOf(weight) * (isMatrix(weight) ? weight.bits / 8 + 4 / weight.blockSize : 4)

export const fromVector = ({ slots }: Layout, values: Float32Array): ReadonlyMap<string, Tensor> =>
  new Map(slots.map((slot) => [slot.name, { dtype: "float32", shape: slot.shape, data: view(values, slot) }]))

/** A tensor as a graph constant, in the graph's real type. */
export const constant = (graph: Graph, name: string, { data, dtype, shape }: Tensor): Value =>
  graph.cast(graph.initializer(name, dtype, shape, data), graph.real)
