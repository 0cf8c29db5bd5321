/**
 * Processes rows in fixed-size chunks in a loop, so that one graph serves any number of rows. Not differentiable.
 *
 * Fewer rows than a chunk form one chunk. The last chunk ends at the last row and may overlap the one before; the
 * overlap is computed twice, with the same results.
 */
import { dimSub } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import { loop } from "../graph/Loop.ts"
import type { Value } from "../graph/Value.ts"

const chunks = "head_chunks"
const chunkRows = "head_rows"

const int = (graph: Graph, op: string, a: Value, b: Value) => graph.node(op, [a, b], "int64", [1])

/**
 * Applies `body` to chunks of the operands (N, …) and a shared constant: values (n, K) per chunk give (N, K). Use once
 * per graph.
 */
export const over = (
  graph: Graph,
  rows: number,
  constant: Value,
  operands: ReadonlyArray<Value>,
  body: (graph: Graph, constant: Value, parts: ReadonlyArray<Value>) => ReadonlyArray<Value>
): ReadonlyArray<Value> => {
  const all = operands[0]!.shape[0]!
  const length = graph.dim(all)
  const size = int(graph, "Min", graph.ints([rows]), length)
  const last = int(graph, "Sub", length, size)
  const count = int(graph, "Div", int(graph, "Sub", int(graph, "Add", length, size), graph.ints([1])), size)
  graph.define(chunks, count)
  graph.define(chunkRows, size)
  const { stacked } = loop(
    graph,
    { count: graph.reshape(count, []), symbol: chunks, captured: [size, last, constant, ...operands], initial: [] },
    ({ captured, graph: inner, iteration }) => {
      const [ownSize, ownLast, ownConstant, ...whole] = captured as [Value, Value, Value, ...ReadonlyArray<Value>]
      inner.define(chunkRows, ownSize)
      const start = int(inner, "Min", int(inner, "Mul", inner.reshape(iteration, [1]), ownSize), ownLast)
      const end = int(inner, "Add", start, ownSize)
      const cut = (a: Value) =>
        inner.node("Slice", [a, start, end, inner.ints([0])], a.dtype, [chunkRows, ...a.shape.slice(1)])
      return { carried: [], stacked: body(inner, ownConstant, whole.map(cut)) }
    }
  )
  return stacked.map((value) => {
    const whole = graph.dimMul(chunks, chunkRows)
    const flat = graph.reshape(value, [whole, ...value.shape.slice(2)])
    const before = graph.slice(flat, 0, 0, dimSub(all, chunkRows))
    return graph.concat([before, graph.slice(flat, 0, dimSub(whole, chunkRows), whole)], 0, all)
  })
}
