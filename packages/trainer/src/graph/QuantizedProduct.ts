/**
 * Multiplies with a quantized matrix: Y = X Wᵀ, W [N, K] in codes of 8 or 4 bits with a scale per block of inputs.
 *
 * In training W is dequantized to float32 before each matmul, forward and backward, and freed afterwards. The scales
 * are made dependent on the matmul's input; otherwise ONNX Runtime would dequantize all matrices at the start, or keep
 * them.
 *
 * Sampling has few rows, for which dequantizing would cost ten times the matmul. ONNX Runtime's `MatMulNBits` works on
 * the codes: 4-bit ones in float32 arithmetic; for 8-bit ones the only fast kernel also rounds the blocks of X to 8
 * bits. It needs prepacked matrices (`prepack`).
 */
import type { DType } from "./DType.ts"
import type { Graph } from "./Graph.ts"
import type { External, Value } from "./Value.ts"

export interface QuantizedMatrix {
  readonly name: string
  /** [N, K] */
  readonly shape: readonly [number, number]
  readonly bits: 4 | 8
  readonly blockSize: number
  /** uint8 or uint4 [N, K] */
  readonly codes: External
  /** float32 [N, K / blockSize] */
  readonly scales: External
}

/** Mode for quantized matrices: with gradients, or fast for few rows. */
export type Use = "learning" | "sampling"

const scalesIn = (graph: Graph, { blockSize, name, scales, shape: [n, k] }: QuantizedMatrix): Value =>
  graph.initializer(`${name}.scales`, "float32", [n, k / blockSize], scales)

/** The product of any X (M, K) with a matrix, which the graph stores once. */
export const make = (graph: Graph, matrix: QuantizedMatrix, use: Use): ((x: Value) => Value) =>
  use === "learning" ? widening(graph, matrix) : onCodes(graph, matrix)

const widening = (graph: Graph, matrix: QuantizedMatrix): ((x: Value) => Value) => {
  const { bits, blockSize, codes, name, shape } = matrix
  const dtype: DType = bits === 4 ? "uint4" : "uint8"
  const [n, k] = shape
  const stored = graph.initializer(name, dtype, shape, codes)
  const scales = scalesIn(graph, matrix)
  const size = (n * k) / blockSize
  const zeros = graph.initializer(
    `${name}.zeros`,
    dtype,
    [n, k / blockSize],
    new Uint8Array(Math.ceil((size * bits) / 8)).fill(bits === 4 ? 0x88 : 0x80)
  )
  const widened = (after: Value): Value => {
    // Not `isComputed`, because there may be no rows.
    const rows = graph.node("Shape", [after], "int64", [1], { start: 0, end: 1 })
    const present = graph.where(graph.cast(graph.reshape(rows, []), "bool"), scales, scales)
    const values = graph.node("DequantizeLinear", [stored, present, zeros], "float32", shape, {
      axis: 1,
      block_size: blockSize
    })
    return graph.cast(values, graph.real)
  }
  return (x) =>
    graph.customGradient([x], () => ({
      outputs: [graph.gemm(x, widened(x), false, true)],
      backward: ([gradient]) => [gradient && graph.gemm(gradient, widened(gradient))]
    }))[0]!
}

/** ONNX Runtime's `accuracy_level`: float32 arithmetic, and 8-bit integer arithmetic. */
const arithmetic = { 4: 1, 8: 4 } as const

const onCodes = (graph: Graph, matrix: QuantizedMatrix): ((x: Value) => Value) => {
  const { bits, blockSize, codes, name, shape } = matrix
  const [n, k] = shape
  const stored = graph.initializer(name, "uint8", [n, k / blockSize, (blockSize * bits) / 8], codes)
  const scales = scalesIn(graph, matrix)
  return (x) => {
    graph.require(x.shape.length === 2 && x.shape[1] === k, "MatMulNBits", [x], `needs ${k} inputs in float32`)
    const attributes = { K: k, N: n, bits, block_size: blockSize, accuracy_level: arithmetic[bits] }
    return graph.node("MatMulNBits", [x, stored, scales], "float32", [x.shape[0]!, n], attributes, "com.microsoft")
  }
}
