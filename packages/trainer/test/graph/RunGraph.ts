/** Runs graphs on ONNX Runtime's CPU provider, in the calling thread. */
import { Effect } from "effect"
import { InferenceSession, Tensor } from "onnxruntime-node"
import { dimValue } from "./dimValue.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"

export type Numbers = Float64Array | Float32Array | Int32Array | BigInt64Array

export type Feeds = Readonly<Record<string, Numbers>>

/** A loaded graph: from the numbers of its inputs to those of its outputs. */
export type Run = (feeds: Feeds) => Effect.Effect<Readonly<Record<string, Numbers>>>

/** `sizes` gives the symbols their values; fusions are left out unless `options` say otherwise. */
export const load = Effect.fnUntraced(function* (
  graph: Graph,
  sizes: Readonly<Record<string, number>> = {},
  options: InferenceSession.SessionOptions = { graphOptimizationLevel: "basic" }
) {
  const { onnx } = toOnnx(graph)
  const session = yield* Effect.acquireRelease(
    Effect.promise(() => InferenceSession.create(onnx, { logSeverityLevel: 4, intraOpNumThreads: 1, ...options })),
    (session) => Effect.promise(() => session.release())
  )
  const run: Run = (feeds) =>
    Effect.promise(async () => {
      const tensors = graph.inputs.map(({ dtype, name, shape }) => {
        const dims = shape.map((dim) => dimValue(dim, sizes) ?? 0)
        return [name, new Tensor(dtype as "float64", feeds[name] as Float64Array, dims)] as const
      })
      const outputs = await session.run(Object.fromEntries(tensors))
      return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data as Numbers]))
    })
  return { run, session }
})

/** Numbers between -1 and 1 that look random and are the same every time. */
export const noise = (length: number, seed: number): Float64Array =>
  Float64Array.from({ length }, (_, i) => {
    const x = Math.sin((i + 1) * 12.9898 + seed * 78.233) * 43758.5453
    return 2 * (x - Math.floor(x)) - 1
  })
