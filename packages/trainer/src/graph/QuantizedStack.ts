/**
 * Quantized expert matrices in codes of 8 or 4 bits, [E, N, K]; a loop body dequantizes one at a time: results equal
 * those of `QuantizedProduct` for training, also in sampling.
 */
import type { Graph } from "./Graph.ts"
import type { QuantizedMatrix } from "./QuantizedProduct.ts"
import type { Shape } from "./Shape.ts"
import type { Value } from "./Value.ts"

/** Stacked over experts: [E N, K]. */
export const make = (graph: Graph, matrix: QuantizedMatrix, shape: Shape) => {
  const { bits, blockSize, codes, name, scales } = matrix
  const [experts, n, k] = shape as readonly [number, number, number]
  const stored = graph.initializer(name, "uint8", [experts, n, (k * bits) / 8], codes)
  const scaled = graph.initializer(`${name}.scales`, "float32", [experts, n, k / blockSize], scales)
  const pick = (g: Graph, [all, factors]: ReadonlyArray<Value>, expert: Value): Value => {
    const attributes = { bits, block_size: blockSize, gather_axis: 0, quantize_axis: 2 }
    const widened = g.node(
      "GatherBlockQuantized",
      [all, expert, factors],
      "float32",
      [n, k],
      attributes,
      "com.microsoft"
    )
    return g.cast(widened, g.real)
  }
  return { captured: [stored, scaled], pick, trained: undefined }
}
