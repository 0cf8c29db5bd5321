/**
 * A small policy for tests of losses: one attention layer with a trainable low-rank part, on ONNX Runtime's CPU
 * kernels, in float64 where gradients are checked. Tokens see earlier tokens of their segment, so that packing can go
 * wrong.
 */
import ort from "onnxruntime-node"
import type { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import type { Value } from "../../src/graph/Value.ts"
import type { Feeds } from "../../src/local/TrainFeeds.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import type { Policy } from "../../src/model/TrainableModel.ts"

export const vocabulary = 23
const width = 6
const rank = 2

/** Uniform numbers in [0, 1) from a fixed stream. */
export const uniforms = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const reals = (seed: number, count: number, scale: number): Float64Array => {
  const uniform = uniforms(seed)
  for (let i = 0; i < 16; i++) uniform()
  return Float64Array.from({ length: count }, () => scale * (2 * uniform() - 1))
}

const layoutOf = (shapes: Readonly<Record<string, ReadonlyArray<number>>>): Parameters.Layout =>
  Parameters.layout(Object.entries(shapes).map(([name, shape]) => ({ name, shape })))

const shapes: Readonly<Record<string, ReadonlyArray<number>>> = {
  embed: [vocabulary, width],
  q: [width, width],
  k: [width, width],
  v: [width, width]
}

/**
 * `adapter`: the projection v has a trainable low-rank part; `all`: embeddings (tied to the output) and projections are
 * trained.
 */
export const toyPolicy = (trains: "adapter" | "all"): Policy => ({
  layout: layoutOf(trains === "all" ? shapes : { "v.lora_A.weight": [rank, width], "v.lora_B.weight": [width, rank] }),
  build: (graph, trainable, { inputIds, positionIds, remat, segmentIds }) => {
    const weight = (name: string): Value => {
      const given = trainable(name)
      if (given !== undefined) return given
      const shape = shapes[name]!
      const values = reals(
        name.length + name.charCodeAt(0),
        shape.reduce((a, b) => a * b, 1),
        1
      )
      return graph.initializer(name, graph.real, shape, graph.real === "float64" ? values : Float32Array.from(values))
    }
    const embed = weight("embed")
    const tokens = graph.dimMul("B", "T")
    const x = graph.reshape(graph.gather(embed, inputIds), [tokens, width])
    const grid = (value: Value, shape: ReadonlyArray<string | number>) => graph.reshape(value, shape)
    const sees = graph.and(
      graph.equal(grid(segmentIds, ["B", "T", 1]), grid(segmentIds, ["B", 1, "T"])),
      graph.lessEq(grid(positionIds, ["B", 1, "T"]), grid(positionIds, ["B", "T", 1]))
    )
    const projection = (name: string) => grid(graph.gemm(x, weight(name), false, true), ["B", "T", width])
    const layer = () => {
      const scores = graph.matmul(projection("q"), graph.transpose(projection("k"), [0, 2, 1]))
      const attention = graph.softmax(graph.where(sees, scores, graph.scalar(-1e9)))
      const a = trainable("v.lora_A.weight")
      const b = trainable("v.lora_B.weight")
      const low = a && b && grid(graph.gemm(graph.gemm(x, a, false, true), b, false, true), ["B", "T", width])
      const v = low === undefined ? projection("v") : graph.add(projection("v"), low)
      return graph.add(x, graph.tanh(grid(graph.matmul(attention, v), [tokens, width])))
    }
    return { hidden: remat ? graph.checkpoint([x], layer) : layer(), head: embed }
  }
})

/** Parameters of the toy policy. */
export const toyTheta = ({ layout }: Policy): Float64Array => reals(99, layout.size, 0.7)

export type Numbers = Float32Array | Float64Array

/** A graph as a function of feeds. */
export const load = async (graph: Graph): Promise<(feeds: Feeds) => Promise<Readonly<Record<string, Numbers>>>> => {
  const session = await ort.InferenceSession.create(toOnnx(graph).onnx, {
    logSeverityLevel: 3,
    intraOpNumThreads: 1,
    graphOptimizationLevel: graph.real === "float64" ? "basic" : "all"
  })
  return async (feeds) => {
    const tensors = Object.entries(feeds).map(
      ([name, { data, dtype, shape }]) => [name, new ort.Tensor(dtype, data, shape)] as const
    )
    const outputs = await session.run(Object.fromEntries(tensors))
    // The graphs of these tests have real outputs alone.
    return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data as Numbers]))
  }
}
