/**
 * Assigns rows to experts for a loop whose graph does not grow with the number of experts: the choices of all tokens,
 * sorted by expert, fill blocks of equal size, each of one expert; the rest of its last block is empty.
 *
 * N tokens choose k of E experts each: A = N k choices, numbered along (N, k). S blocks of P rows, both determined at
 * runtime. All values are integers, and none is recomputed in the backward pass.
 */
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"

/** Block size, P, the same in all layers. */
const rowsOfBlock = "expert_rows"

/** Fewer rows are no faster, and a single row would use another kernel, with slightly different numbers. */
const minRows = 4
const maxRows = 64

export interface Dispatch {
  /** S, int64 [] */
  readonly count: Value
  readonly blocks: Dim
  readonly rows: Dim
  /** The choice in each row, int64 [S P]; A if the row is empty. */
  readonly choices: Value
  /** Its token, int64 [S, P]; arbitrary for an empty row. */
  readonly tokens: Value
  /** The row of each choice, int64 [N, k]. */
  readonly places: Value
  /** The expert of each block, int64 [S]. */
  readonly experts: Value
  /** Each expert's first block and the one after its last: int64 [E]. */
  readonly begins: Value
  readonly ends: Value
}

/** 0, 1, … as int64 [size]. */
const range = (graph: Graph, size: Dim): Value => {
  const end = graph.reshape(graph.dim(size), [])
  return graph.node("Range", [graph.scalar(0, "int64"), end, graph.scalar(1, "int64")], "int64", [size])
}

const ceilDiv = (graph: Graph, a: Value, b: Value): Value =>
  graph.div(graph.sub(graph.add(a, b), graph.scalar(1, "int64")), b)

/** Half of an expert's average load: larger blocks are emptier, smaller ones read its weights more often. */
const defineRows = (graph: Graph, choices: Dim, experts: number): void => {
  if (graph.symbols.has(rowsOfBlock)) return
  const half = ceilDiv(graph, graph.dim(choices), graph.ints([2 * experts]))
  graph.define(rowsOfBlock, graph.min(graph.max(half, graph.ints([minRows])), graph.ints([maxRows])))
}

/** `selected` int64 (N, k), values below `experts`; `name` distinguishes the mixtures of a graph. */
export const make = (graph: Graph, selected: Value, experts: number, name: string): Dispatch =>
  graph.outside(() => {
    const [tokens, perToken] = selected.shape as [Dim, number]
    const all = graph.dimMul(tokens, perToken)
    defineRows(graph, all, experts)
    const size = graph.dim(rowsOfBlock)
    const length = graph.reshape(graph.dim(all), [])
    const numbers = range(graph, all)
    const flat = graph.reshape(selected, [all])
    const signature = { dtype: "int64", shape: [all] } as const
    // Choices of one expert stay in token order.
    const keys = graph.add(graph.mul(flat, length), numbers)
    const attributes = { axis: 0, largest: 0, sorted: 1 }
    const order = graph.multi("TopK", [keys, graph.dim(all)], [signature, signature], attributes)[1]!
    const sorted = graph.gather(flat, order)
    const scattered = (into: Value, at: Value, values: Value, reduction: "add" | "none") =>
      graph.node("ScatterElements", [into, at, values], "int64", into.shape, { axis: 0, reduction })
    const filled = (x: Value, shape: ReadonlyArray<Dim>) => graph.expand(x, shape)
    const zero = graph.scalar(0, "int64")
    const ones = filled(graph.scalar(1, "int64"), [all])
    const counts = scattered(filled(zero, [experts]), flat, ones, "add")
    const perExpert = ceilDiv(graph, counts, size)
    const ends = graph.cumsum(perExpert, 0)
    const begins = graph.sub(ends, perExpert)
    const before = graph.cumsum(counts, 0, { exclusive: true })
    const rank = graph.sub(numbers, graph.gather(before, sorted))
    const places = graph.add(graph.mul(graph.gather(begins, sorted), size), rank)
    const blocks = `${name}_blocks`
    const total = graph.slice(ends, 0, experts - 1, experts)
    graph.define(blocks, total)
    const cells = graph.dimMul(blocks, rowsOfBlock)
    const choices = scattered(filled(length, [cells]), places, order, "none")
    const token = graph.div(choices, graph.scalar(perToken, "int64"))
    const last = graph.sub(graph.reshape(graph.dim(tokens), []), graph.scalar(1, "int64"))
    const isPast = graph.lessEq(graph.reshape(ends, [1, experts]), graph.reshape(range(graph, blocks), [blocks, 1]))
    return {
      count: graph.reshape(total, []),
      blocks,
      rows: rowsOfBlock,
      choices,
      tokens: graph.reshape(graph.min(token, last), [blocks, rowsOfBlock]),
      places: graph.reshape(scattered(filled(zero, [all]), order, places, "none"), [tokens, perToken]),
      experts: graph.sum(graph.cast(isPast, "int64"), [1]),
      begins,
      ends
    }
  })
