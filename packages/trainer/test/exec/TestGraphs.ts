import { Effect } from "effect"
import * as Device from "../../src/exec/Device.ts"
import type { HostTensor } from "../../src/exec/Executor.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { type OnnxModel, toOnnx } from "../../src/graph/Onnx.ts"

export const floats = (...values: ReadonlyArray<number>): HostTensor => ({
  dtype: "float32",
  shape: [values.length],
  data: Float32Array.from(values)
})

/** sum = x + y, product = x * y, of vectors of length N. */
export const arithmetic = (hidesSizes = false): OnnxModel => {
  const graph = new Graph()
  const x = graph.input("x", "float32", ["N"])
  const y = graph.input("y", "float32", ["N"])
  graph.output("sum", graph.add(x, y))
  graph.output("product", graph.mul(x, y))
  return toOnnx(graph, { hidesSizes })
}

/** y = x to the seventh, of a matrix: some hundred milliseconds of one core for 1200 rows. */
export const power = (rows: number): OnnxModel => {
  const graph = new Graph()
  const x = graph.input("x", "float32", [rows, rows])
  let value = x
  for (let round = 0; round < 6; round++) value = graph.matmul(value, x)
  graph.output("y", value)
  return toOnnx(graph)
}

export const square = (rows: number): HostTensor => ({
  dtype: "float32",
  shape: [rows, rows],
  data: new Float32Array(rows * rows)
})

const webgpu = await Effect.runPromise(Device.trial("webgpu"))

/** What suites run on: WebGPU too where it works, be it in software. */
export const devices = webgpu.works ? (["cpu", "webgpu"] as const) : (["cpu"] as const)

/** To be said beside the results. */
export const devicesNote = webgpu.works
  ? `on the CPU and on WebGPU (${Device.speed(webgpu.gflops)})`
  : `on the CPU; not on WebGPU: ${webgpu.why}`
