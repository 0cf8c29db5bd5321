/** A program that runs a graph in this process, or in a thread of it, and ends. */
import { Effect } from "effect"
import { Executor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"

const graph = new Graph()
const x = graph.input("x", "float32", ["N"])
graph.output("sum", graph.add(x, x))
const model = toOnnx(graph)

const program = Effect.gen(function* () {
  const { run } = yield* (yield* Executor).load(model)
  const { host } = yield* run({ x: { dtype: "float32", shape: [1], data: Float32Array.of(2) } })
  console.log(String(host["sum"]?.data[0]))
})

const layer = process.argv[2] === "thread" ? OrtWorker.layer({ threads: 1 }) : Ort.layer({ threads: 1 })
await Effect.runPromise(Effect.provide(Effect.scoped(program), layer))
