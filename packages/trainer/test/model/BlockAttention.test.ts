import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import type { DType } from "../../src/graph/DType.ts"
import { Graph } from "../../src/graph/Graph.ts"
import * as BlockAttention from "../../src/model/BlockAttention.ts"
import { packedAttention } from "../../src/model/Model.ts"
import { load, noise } from "../graph/RunGraph.ts"

const heads = 4
const kvHeads = 2
const headDim = 8

type Kind = "whole" | "blocks"

/** What some architectures do beside the common. */
interface Own {
  readonly cap?: number | undefined
  readonly window?: number | undefined
  readonly hasSinks?: boolean
}

/** Σ attention · target, with its gradients by queries, keys, values and sinks. */
const graphOf = (kind: Kind, real: DType, most: { readonly maxQueries?: number } = {}, own: Own = {}) => {
  const graph = new Graph(real)
  const input = (name: string, count: number) => graph.input(name, real, ["B", count, "T", headDim])
  const ids = (name: string) => graph.input(name, "int32", ["B", "T"])
  const [segmentIds, positionIds] = [ids("segments"), ids("positions")]
  const [q, k, v, target] = [input("q", heads), input("k", kvHeads), input("v", kvHeads), input("target", heads)]
  const sinks = own.hasSinks === true ? graph.input("sinks", real, [heads]) : undefined
  const attention =
    kind === "whole"
      ? packedAttention(graph, segmentIds, positionIds)
      : BlockAttention.make(graph, segmentIds, positionIds, heads, most)
  const attended = graph.checkpoint([q, k, v], () =>
    attention({ layer: 0, scale: 0.3, cap: own.cap, window: own.window, sinks }, q, k, v)
  )
  const loss = graph.sum(graph.mul(attended, target), [0, 1, 2, 3])
  graph.output("loss", loss)
  const wrt = [q, k, v, ...(sinks === undefined ? [] : [sinks])]
  grad(graph, loss, wrt).forEach((gradient, i) => graph.output(`gradient_${i}`, gradient))
  return graph
}

/** Rows of `width` tokens: lengths of sequences one after the other, then padding. */
const idsOf = (rows: ReadonlyArray<ReadonlyArray<number>>, width: number) => {
  const segments = new Int32Array(rows.length * width).fill(-1)
  const positions = new Int32Array(rows.length * width)
  rows.forEach((lengths, row) => {
    let at = row * width
    lengths.forEach((length, segment) => {
      for (let t = 0; t < length && at < (row + 1) * width; t++, at++) {
        segments[at] = segment
        positions[at] = t
      }
    })
  })
  return { segments, positions }
}

const feedsOf = (rows: ReadonlyArray<ReadonlyArray<number>>, width: number) => {
  const ids = idsOf(rows, width)
  const size = (count: number) => rows.length * count * width * headDim
  // What is attended where a row is padded means nothing: no loss may come of it.
  const isPadded = (at: number) => {
    const [row, t] = [Math.floor(at / (heads * width * headDim)), Math.floor(at / headDim) % width]
    return ids.segments[row * width + t] === -1
  }
  return {
    ...ids,
    q: noise(size(heads), 1).map((x) => 4 * x),
    k: noise(size(kvHeads), 2),
    v: noise(size(kvHeads), 3),
    sinks: noise(heads, 5).map((x) => 3 * x),
    target: noise(size(heads), 4).map((x, at) => (isPadded(at) ? 0 : x))
  }
}

const outputs = ["loss", "gradient_0", "gradient_1", "gradient_2"]

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("BlockAttention", () => {
  it.effect.prop(
    "is attention over the whole row, with its gradients, however rows are packed and cut",
    [
      Schema.NonEmptyArray(Schema.Array(whole(1, 40)).check(Schema.isMaxLength(5))).check(Schema.isMaxLength(3)),
      whole(1, 70),
      Schema.Literals([1, 7, 16, 256]),
      Schema.Literals(["plain", "window", "both", "sinks"])
    ],
    ([rows, width, maxQueries, kind]) =>
      Effect.gen(function* () {
        const sizes = { B: rows.length, T: width }
        const own = {
          window: kind === "plain" ? undefined : 1 + (width % 9),
          cap: kind === "both" ? 1.5 : undefined,
          hasSinks: kind === "sinks"
        }
        const feeds = feedsOf(rows, width)
        const reference = yield* load(graphOf("whole", "float64", {}, own), sizes)
        const blocks = yield* load(graphOf("blocks", "float64", { maxQueries }, own), sizes)
        const [expected, found] = [yield* reference.run(feeds), yield* blocks.run(feeds)]
        for (const name of own.hasSinks ? [...outputs, "gradient_3"] : outputs) {
          const real = expected[name] as Float64Array
          // Hundreds of thousands of numbers: one assertion over all of them.
          const off = real.findIndex((x, i) => !(Math.abs(Number(found[name]![i]) - x) <= 1e-10))
          assert.strictEqual(off, -1, `${name}[${off}]: ${found[name]![off]}, not ${real[off]}`)
          assert.strictEqual(found[name]!.length, real.length)
        }
      }),
    { arbitrary: { runs: 25 } }
  )
})
