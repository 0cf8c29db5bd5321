/**
 * Attention for training like `PackedAttention`, in blocks of queries: memory grows linearly with row length, and keys
 * that no query of a block sees are skipped.
 *
 * A block's scores exist only while it is computed, in the forward pass and again in the backward pass, which
 * recomputes the softmax; attention weights are never stored. With P = softmax(S), S = Q Kᵀ / sqrt(D), O = P V and
 * gradients written with ':
 *
 *     V' = Pᵀ O'    P' = O' Vᵀ    S' = P (P' - Σ P P')    Q' = S' K / sqrt(D)    K' = S'ᵀ Q / sqrt(D)
 *
 * Σ P P' of a query is Σ O O', so it is known before any block is computed, and P' - Σ is one matmul: [O', -Σ] [V, 1]ᵀ.
 * A head's sink b is an additional score without a value: ΣP = 1 - P_b, and b' = -P_b Σ P P'.
 *
 * An architecture's own scale replaces 1 / sqrt(D); its cap c makes C = c tanh(S / c) of the scores, and S' = C' (1 -
 * (C / c)²). With a window, a block only has the keys that its queries see.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import { loop, type Run } from "../graph/Loop.ts"
import type { Backward } from "../graph/Step.ts"
import type { Value } from "../graph/Value.ts"
import type { Attention, AttentionTraits } from "./Decoder.ts"
import type { SharedIds } from "./TrainableModel.ts"
import * as Scores from "./part/Scores.ts"

/** Max scores of a block, over all rows and heads: more exceed CPU caches and take memory. */
const maxScores = 2 ** 24
const minQueries = 16
const maxQueries = 128

export interface Options {
  /** Max queries of a block. Default 128. */
  readonly maxQueries?: number
  readonly shared?: SharedIds | undefined
}

/** Max scores of a block; `queries` is the number of all queries of all heads. */
export const scoresOf = (queries: number, rowLength: number): number =>
  Math.min(queries * Math.min(rowLength, maxQueries), Math.max(maxScores, queries * minQueries))

/** Block sizes of a row, and the segments in it. */
interface Layout {
  readonly count: Value
  /** Queries of a block, int64 [1]; the last may have fewer. */
  readonly size: Value
  readonly segmentIds: Value
  readonly positionIds: Value
  /** Start of each token's sequence, or of its shared prompt, in its row, int32 [B, T]. */
  readonly begins: Value
  /** The segment of each token's shared prompt, or its own. */
  readonly promptIds: Value
  readonly sharesPrompts: boolean
}

const blocks = "blocks"
const blockSize = "block_size"

const layoutOf = (
  graph: Graph,
  segmentIds: Value,
  positionIds: Value,
  heads: number,
  { maxQueries: max = maxQueries, shared }: Options
): Layout => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const int = (op: string, a: Value, b: Value) => graph.node(op, [a, b], "int64", [1])
  const length = graph.dim(width)
  const ceil = (a: Value, b: Value) => int("Div", int("Sub", int("Add", a, b), graph.ints([1])), b)
  const scores = int("Mul", graph.dim(graph.dimMul(rows, width)), graph.ints([heads]))
  const fitting = int("Div", graph.ints([maxScores]), scores)
  const fits = int("Min", int("Max", fitting, graph.ints([minQueries])), graph.ints([max]))
  const count = ceil(length, fits)
  const size = ceil(length, count)
  graph.define(blocks, count)
  graph.define(blockSize, size)
  const scalar = (value: Value) => graph.reshape(value, [])
  const zero = graph.scalar(0, "int64")
  const indices = graph.node("Range", [zero, scalar(length), graph.scalar(1, "int64")], "int64", [width])
  return {
    count: scalar(count),
    size,
    segmentIds,
    positionIds,
    begins: shared?.begins ?? graph.sub(graph.cast(indices, "int32"), positionIds),
    promptIds: shared?.promptIds ?? segmentIds,
    sharesPrompts: shared !== undefined
  }
}

/** Operands of one block. Q queries, K keys: from the first key that any of the queries sees to the last query. */
interface Block {
  readonly graph: Graph
  /** Scaled queries of this block, stacked if they share keys: [B, kvHeads, perKv Q, D]. */
  readonly queries: Value
  /** [B, kvHeads, K, D] */
  readonly keys: Value
  readonly values: Value
  /** [B, kvHeads, perKv Q, K] */
  readonly weights: Value
  /** The scores before the softmax, without the mask: same shape. */
  readonly scores: Value
  /** Takes the block's rows of [B, kvHeads, perKv, T, D] in the form of `queries`, for any D. */
  readonly cut: (value: Value) => Value
  /** Takes the block's rows of [B, kvHeads, T, D] in the form of `keys`, for any D. */
  readonly ofKeys: (value: Value) => Value
  /** The inverse of `cut`, with zeros after the last token: [B, kvHeads, perKv, size, D]. */
  readonly filled: (value: Value) => Value
  /** Sums [B, kvHeads, perKv Q, 1] over rows and queries: [kvHeads, perKv]. */
  readonly byHead: (value: Value) => Value
  /** Adds values at the block's keys to [B, kvHeads, T, D]. */
  readonly addToKeys: (sum: Value, own: Value) => Value
}

const blockOf = (
  { captured, graph, iteration }: Run,
  { cap, scale, window }: AttentionTraits,
  sinks: Value | undefined,
  sharesPrompts: boolean
): Block => {
  const [size, segmentIds, positionIds, begins, promptIds, queries, keys, values] = captured as [
    Value,
    Value,
    Value,
    Value,
    Value,
    Value,
    Value,
    Value
  ]
  const [rows, kvHeads, perKv, width, headDim] = queries.shape as [Dim, number, number, Dim, number]
  const int = (op: string, a: Value, b: Value) => graph.node(op, [a, b], "int64", [1])
  graph.define(blockSize, size)
  const start = int("Mul", graph.reshape(iteration, [1]), size)
  const end = int("Min", int("Add", start, size), graph.dim(width))
  const cutAt = (a: Value, axis: number, from: Value, to: Value, length: Dim) =>
    graph.node(
      "Slice",
      [a, from, to, graph.ints([axis])],
      a.dtype,
      a.shape.map((dim, i) => (i === axis ? length : dim))
    )
  graph.define("queries", int("Sub", end, start))
  const ofQueries = (a: Value, axis: number) => cutAt(a, axis, start, end, "queries")
  // Each query's first key: a window moves it, at most to the same position of a shared prompt.
  const outside = (size: number) =>
    graph.max(graph.sub(ofQueries(positionIds, 1), graph.scalar(size - 1, "int32")), graph.scalar(0, "int32"))
  const firsts = window === undefined ? ofQueries(begins, 1) : graph.add(ofQueries(begins, 1), outside(window))
  const first = graph.node("ReduceMin", [firsts, graph.ints([0, 1])], "int32", [], { keepdims: 0 })
  const from = graph.cast(graph.reshape(first, [1]), "int64")
  graph.define("before", from)
  graph.define("keys", int("Sub", end, from))
  graph.define("after", int("Sub", graph.dim(width), end))
  const ofKeys = (a: Value, axis = 2) => cutAt(a, axis, from, end, "keys")

  const asQuery = (ids: Value) => graph.reshape(ofQueries(ids, 1), [rows, 1, 1, "queries", 1])
  const asKey = (ids: Value) => graph.reshape(ofKeys(ids, 1), [rows, 1, 1, 1, "keys"])
  const isVisible = graph.and(
    Scores.isOwn(graph, asQuery(segmentIds), asKey(segmentIds), sharesPrompts ? asQuery(promptIds) : undefined),
    Scores.isVisible(graph, asQuery(positionIds), asKey(positionIds), window)
  )
  const stacked = [rows, kvHeads, graph.dimMul(perKv, "queries")]
  const cut = (value: Value) => graph.reshape(ofQueries(value, 3), [...stacked, value.shape.at(-1)!])
  const scaled = graph.scale(cut(queries), scale)
  const blockKeys = ofKeys(keys)
  const scores = Scores.capped(graph, graph.matmul(scaled, graph.transpose(blockKeys, [0, 1, 3, 2])), cap)
  const visible = graph.add(
    graph.reshape(scores, [rows, kvHeads, perKv, "queries", "keys"]),
    Scores.bias(graph, isVisible)
  )
  const missing = int("Sub", size, graph.dim("queries"))
  return {
    graph,
    queries: scaled,
    keys: blockKeys,
    values: ofKeys(values),
    weights: graph.reshape(Scores.weights(graph, visible, sinks), [...stacked, "keys"]),
    scores,
    cut,
    ofKeys,
    filled: (value) => {
      const apart = graph.reshape(value, [rows, kvHeads, perKv, "queries", headDim])
      const pads = graph.node("Concat", [graph.ints([0]), missing], "int64", [2], { axis: 0 })
      const shape = [rows, kvHeads, perKv, blockSize, headDim]
      return graph.node("Pad", [apart, pads, undefined, graph.ints([3])], value.dtype, shape)
    },
    byHead: (value) => graph.sum(graph.reshape(value, [rows, kvHeads, perKv, "queries"]), [0, 3]),
    addToKeys: (sum, own) => {
      const part = (from: Value, to: Value, length: Dim) => cutAt(sum, 2, from, to, length)
      const parts = [
        part(graph.ints([0]), from, "before"),
        graph.add(part(from, end, "keys"), own),
        part(end, graph.dim(width), "after")
      ]
      return graph.node("Concat", parts, sum.dtype, sum.shape, { axis: 2 })
    }
  }
}

/** Concatenates a loop's blocks: [B, heads, T, D]. */
const joined = (graph: Graph, stacked: Value, [rows, heads, width, headDim]: ReadonlyArray<Dim>): Value => {
  const whole = graph.reshape(graph.transpose(stacked, [1, 2, 3, 0, 4, 5]), [
    rows!,
    heads!,
    graph.dimMul(blocks, blockSize),
    headDim!
  ])
  return graph.slice(whole, 2, 0, width)
}

/** `segmentIds` and `positionIds` are int32 [B, T]. A segment is contiguous; positions of a sequence count from 0. */
export const make = (
  graph: Graph,
  segmentIds: Value,
  positionIds: Value,
  heads: number,
  options: Options = {}
): Attention => {
  const layout = layoutOf(graph, segmentIds, positionIds, heads, options)
  const { sharesPrompts } = layout
  const common = [layout.size, layout.segmentIds, layout.positionIds, layout.begins, layout.promptIds]
  const overBlocks = (
    captured: ReadonlyArray<Value>,
    initial: ReadonlyArray<Value>,
    body: Parameters<typeof loop>[2]
  ) => loop(graph, { count: layout.count, symbol: blocks, captured: [...common, ...captured], initial }, body)

  return (traits, queries, keys, values) => {
    const [rows, , width] = queries.shape as [Dim, number, Dim]
    const kvHeads = keys.shape[1] as number
    const perKv = heads / kvHeads
    const sinks = traits.sinks === undefined ? [] : [traits.sinks]
    const inputs = [queries, keys, values, ...sinks]
    const grouped = (value: Value) => graph.reshape(value, [rows, kvHeads, perKv, width, value.shape.at(-1)!])
    const forward = () =>
      overBlocks([grouped(queries), keys, values, ...sinks], [], (run) => {
        const block = blockOf(run, traits, sinks.length > 0 ? run.captured.at(-1) : undefined, sharesPrompts)
        return { carried: [], stacked: [block.filled(block.graph.matmul(block.weights, block.values))] }
      }).stacked[0]!
    return graph.customGradient(inputs, () => {
      const attended = joined(graph, forward(), queries.shape)
      const backward: Backward = ([gradient], { recall }) => {
        if (gradient === undefined) return inputs.map(() => undefined)
        const [q, k, v] = [recall(queries), recall(keys), recall(values)]
        const zero = graph.expand(graph.scalar(0, k.dtype), k.shape)
        const totals = graph.neg(graph.sum(graph.mul(gradient, recall(attended)), [-1], true))
        const ones = graph.expand(graph.scalar(1, v.dtype), [rows, kvHeads, width, 1])
        const captured = [grouped(q), k, v, grouped(gradient), grouped(totals), graph.concat([v, ones], 3), ...sinks]
        const { carried, stacked } = overBlocks(captured, [zero, zero], (run) => {
          const [ofGradient, ofTotals, withOnes, ofSinks] = run.captured.slice(common.length + 3) as [
            Value,
            Value,
            Value,
            Value?
          ]
          const block = blockOf(run, traits, ofSinks, sharesPrompts)
          const { graph: g, weights } = block
          const [dy, total] = [block.cut(ofGradient), block.cut(ofTotals)]
          const flipped = (a: Value) => g.transpose(a, [0, 1, 3, 2])
          const lessTotal = g.matmul(g.concat([dy, total], 3), flipped(block.ofKeys(withOnes)))
          const dScores = Scores.capGradient(g, g.mul(weights, lessTotal), block.scores, traits.cap)
          const toSink = () => g.mul(g.sub(g.scalar(1), g.sum(weights, [-1], true)), total)
          const [keySum, valueSum] = run.carried as [Value, Value]
          const dQueries = g.scale(g.matmul(dScores, block.keys), traits.scale)
          return {
            carried: [
              block.addToKeys(keySum, g.matmul(flipped(dScores), block.queries)),
              block.addToKeys(valueSum, g.matmul(flipped(weights), dy))
            ],
            stacked: [block.filled(dQueries), ...(ofSinks === undefined ? [] : [block.byHead(toSink())])]
          }
        })
        const ofSinks = stacked.slice(1).map((sums) => graph.reshape(graph.sum(sums, [0]), [heads]))
        return [joined(graph, stacked[0]!, queries.shape), ...carried, ...ofSinks]
      }
      return { outputs: [attended], backward }
    })[0]!
  }
}
