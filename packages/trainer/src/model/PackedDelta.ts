/**
 * Gated delta rule for training, over rows of several sequences without state across them: in chunks of 32 tokens (Yang
 * et al. 2024, 2412.06464, section 3.3).
 *
 * Within a chunk the corrections v_t solve a triangular system (I + L) V = ..., whose inverse is composed from those of
 * halves, X - X M X, for all chunks in parallel. A loop passes the state from chunk to chunk:
 *
 *     V = U - W S    O = Q S + A V    S' = g S + Kᵀ V
 *
 * The backward pass recomputes the states, and iterates in reverse.
 */
import { grad } from "../graph/Autodiff.ts"
import { type Dim, dimMul, dimSub } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import { loop } from "../graph/Loop.ts"
import type { Value } from "../graph/Value.ts"
import type { Operands, Recurrence } from "./DeltaNet.ts"
import * as Convolution from "./part/Convolution.ts"

/** Tokens of a chunk: a power of two. */
export const chunk = 32

const chunks = "delta_chunks"

/** A constant chunk-by-chunk matrix. */
const square = (graph: Graph, name: string, f: (i: number, j: number) => boolean): Value => {
  const ones = Array.from({ length: chunk ** 2 }, (_, at) => (f(Math.floor(at / chunk), at % chunk) ? 1 : 0))
  const values = graph.real === "float64" ? Float64Array.from(ones) : Float32Array.from(ones)
  return graph.initializer(`delta.${name}`, graph.real, [chunk, chunk], values)
}

/** N chunks of C tokens, and masks of ones and zeros for sequence boundaries. */
interface Layout {
  /** int64 [] */
  readonly count: Value
  /** x [B, T, ...] with zeros after the last token: [N, B, H, C, ...] */
  readonly cut: (x: Value) => Value
  /** [N, B, 1, C, C]: 1 if j equals i, or precedes it in its sequence. */
  readonly same: Value
  /** [N, B, 1, C, 1]: 1 for tokens of the sequence that the previous chunk ended in. */
  readonly reads: Value
  /** [N, B, 1, C, 1]: 1 for tokens of the sequence that the chunk ends in. */
  readonly writes: Value
  /** [N, B, 1, 1, 1]: 1 if the chunk ends in the sequence that the previous chunk ended in. */
  readonly goesOn: Value
}

const layoutOf = (graph: Graph, segmentIds: Value): Layout => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const above = graph.node("Add", [graph.dim(width), graph.ints([chunk - 1])], "int64", [1])
  const count = graph.node("Div", [above, graph.ints([chunk])], "int64", [1])
  graph.define(chunks, count)
  const whole = dimMul(chunks, chunk)
  const filled = (x: Value, by: number) => {
    const rest = [rows, dimSub(whole, width), ...x.shape.slice(2)]
    return graph.concat([x, graph.expand(graph.scalar(by, x.dtype), rest)], 1, whole)
  }
  const cut = (x: Value) => {
    const inChunks = graph.reshape(filled(x, 0), [rows, chunks, chunk, ...x.shape.slice(2)])
    return graph.transpose(inChunks, x.shape.length === 3 ? [1, 0, 3, 2] : [1, 0, 3, 2, 4])
  }
  const of = (a: Value, b: Value) => graph.cast(graph.equal(a, b), graph.real)
  const segments = graph.transpose(graph.reshape(filled(segmentIds, -1), [rows, chunks, chunk]), [1, 0, 2])
  const last = graph.slice(segments, 2, chunk - 1, chunk)
  const none = graph.expand(graph.scalar(-2, "int32"), [1, rows, 1])
  const before = graph.concat([none, graph.slice(last, 0, 0, dimSub(chunks, 1))], 0, chunks)
  const column = (x: Value, size: number) => graph.reshape(x, [chunks, rows, 1, size, 1])
  const segmentMask = of(column(segments, chunk), graph.reshape(segments, [chunks, rows, 1, 1, chunk]))
  return {
    count: graph.reshape(count, []),
    cut,
    same: graph.mul(
      segmentMask,
      square(graph, "lower", (i, j) => j <= i)
    ),
    reads: column(of(segments, before), chunk),
    writes: column(of(segments, last), chunk),
    goesOn: column(of(last, before), 1)
  }
}

/** (I + L)⁻¹ of strictly lower triangular L [..., C, C]. */
const inverse = (graph: Graph, lower: Value, halves: ReadonlyArray<Value>, identity: Value): Value => {
  const [first, ...others] = halves as [Value, ...Array<Value>]
  let known = graph.sub(identity, graph.mul(lower, first))
  for (const half of others) {
    known = graph.sub(known, graph.matmul(graph.matmul(known, graph.mul(lower, half)), known))
  }
  return known
}

/** One chunk: its output [B, H, C, Dv], and the state after it. */
const step = (g: Graph, [u, w, q, a, k, decay]: ReadonlyArray<Value>, state: Value): readonly [Value, Value] => {
  const corrected = g.sub(u!, g.matmul(w!, state))
  const output = g.add(g.matmul(q!, state), g.matmul(a!, corrected))
  return [output, g.add(g.mul(state, decay!), g.matmul(g.transpose(k!, [0, 1, 3, 2]), corrected))]
}

/** Loops over chunks: [N, B, H, C, Dv] from the inputs of `step`, each [N, B, H, ...]. */
const scan = (graph: Graph, { count }: Layout, inputs: ReadonlyArray<Value>): Value => {
  const [, rows, heads, , valueDim] = inputs[0]!.shape as [Dim, Dim, number, number, number]
  const keyDim = inputs[1]!.shape[4]!
  const empty = () => [graph.expand(graph.scalar(0), [rows, heads, keyDim, valueDim])]
  const through = (of: ReadonlyArray<Value>) =>
    loop(
      graph,
      { count, symbol: chunks, captured: of, initial: empty() },
      ({ captured, carried, graph: g, iteration }) => {
        const parts = captured.map((x) => g.gather(x, iteration))
        const [output, next] = step(g, parts, carried[0]!)
        return { carried: [next], stacked: [output, g.identity(carried[0]!)] }
      }
    ).stacked as [Value, Value]
  return graph.customGradient(inputs, () => ({
    outputs: [through(inputs)[0]],
    backward: ([gradient], { recall }) => {
      if (gradient === undefined) return inputs.map(() => undefined)
      const own = inputs.map(recall)
      const [, states] = through(own)
      const last = graph.sub(count, graph.scalar(1, "int64"))
      const captured = [last, gradient, states, ...own]
      const { stacked } = loop(graph, { count, symbol: chunks, captured, initial: empty() }, (run) => {
        const { graph: g, iteration } = run
        const [end, ...all] = run.captured
        const at = g.sub(end!, iteration)
        const [dy, state, ...parts] = all.map((x) => g.gather(x, at))
        const [output, next] = step(g, parts, state!)
        const dot = (a: Value, b: Value) => g.sum(g.mul(a, b), [0, 1, 2, 3])
        const [before, ...others] = grad(g, g.add(dot(output, dy!), dot(next, run.carried[0]!)), [state!, ...parts])
        return { carried: [before!], stacked: others }
      })
      // The loop ran in reverse.
      const ends = [last, graph.scalar(-1, "int64"), graph.scalar(-1, "int64")]
      const backwards = graph.node("Range", ends, "int64", [chunks])
      return stacked.map((x) => graph.gather(x, backwards))
    }
  }))[0]!
}

/** `segmentIds` and `positionIds` int32 [B, T]; a segment is contiguous, and its positions count from 0. */
export const make = (graph: Graph, segmentIds: Value, positionIds: Value): Recurrence => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const layout = layoutOf(graph, segmentIds)
  const identity = square(graph, "identity", (i, j) => i === j)
  const strict = square(graph, "strict", (i, j) => j < i)
  const halves = Array.from({ length: Math.log2(chunk) }, (_, level) => {
    const half = 2 ** level
    const isOfBoth = (i: number, j: number) => Math.floor(i / (2 * half)) === Math.floor(j / (2 * half))
    return square(graph, `half${half}`, (i, j) => isOfBoth(i, j) && i % (2 * half) >= half && j % (2 * half) < half)
  })
  const masks = new Map<number, Value>()
  const isBehind = (lag: number): Value => {
    const known =
      masks.get(lag) ??
      graph.outside(() => {
        const reaches = graph.greaterEq(positionIds, graph.scalar(lag, "int32"))
        return graph.cast(graph.reshape(reaches, [rows, width, 1]), graph.real)
      })
    masks.set(lag, known)
    return known
  }

  const mix = (_: number, { betas, decays, keys, queries, values }: Operands): Value => {
    const { cut, goesOn, reads, same, writes } = layout
    const [, , heads, valueDim] = values.shape as [Dim, Dim, number, number]
    const [q, k, v] = [cut(queries), cut(keys), cut(values)]
    const shape = [chunks, rows, heads, chunk]
    const beta = graph.reshape(cut(betas), [...shape, 1])
    const sums = graph.cumsum(cut(decays), 3)
    const sum = graph.reshape(sums, [...shape, 1])
    const end = graph.slice(sum, 3, chunk - 1, chunk)
    // Masked before the exponential, because masked entries would overflow.
    const distance = graph.mul(graph.sub(sum, graph.reshape(sums, [chunks, rows, heads, 1, chunk])), same)
    const decay = graph.mul(graph.exp(distance), same)
    const across = graph.transpose(k, [0, 1, 2, 4, 3])
    const weighed = graph.mul(k, beta)
    const lower = graph.mul(graph.mul(graph.matmul(weighed, across), decay), strict)
    const solved = inverse(graph, lower, halves, identity)
    const sinceStart = graph.mul(graph.exp(sum), reads)
    const output = scan(graph, layout, [
      graph.matmul(solved, graph.mul(v, beta)),
      graph.matmul(solved, graph.mul(weighed, sinceStart)),
      graph.mul(q, sinceStart),
      graph.mul(graph.matmul(q, across), decay),
      graph.mul(k, graph.mul(graph.exp(graph.sub(end, sum)), writes)),
      graph.mul(graph.exp(end), goesOn)
    ])
    const inRows = graph.reshape(graph.transpose(output, [1, 0, 3, 2, 4]), [
      rows,
      dimMul(chunks, chunk),
      heads,
      valueDim
    ])
    return graph.slice(inRows, 1, 0, width)
  }

  return {
    convolve: (_, x, weight) =>
      Convolution.causal(graph, Convolution.padded(graph, x, weight.shape[2] as number), weight, width, isBehind),
    mix
  }
}
