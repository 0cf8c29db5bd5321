/**
 * The process of `Device.trial`: products of matrices on the device that is named on the command line, checked and
 * timed.
 *
 * A process and not a thread, because a driver that crashes takes its process along. Answers one `Outcome`.
 */
import { Graph } from "../graph/Graph.ts"
import { toOnnx } from "../graph/Onnx.ts"
import type { DeviceKind, HostTensor } from "./Executor.ts"
import * as OrtRuntime from "./OrtRuntime.ts"

/** Billions of multiplications and additions of float32 per second; or why there are none. */
export type Outcome = { readonly gflops: number } | { readonly failure: string }

const size = 1024
const products = 4

/** Ones, multiplied by matrices of 1 / size, stay ones: exactly, in float32 and in shorter formats too. */
const matrix = (value: number): HostTensor => ({
  dtype: "float32",
  shape: [size, size],
  data: new Float32Array(size * size).fill(value)
})

const model = () => {
  const graph = new Graph()
  const factor = graph.input("factor", "float32", [size, size])
  let product = graph.input("ones", "float32", [size, size])
  for (let count = 0; count < products; count++) product = graph.matmul(product, factor)
  graph.output("sums", graph.sum(product, [1]))
  return toOnnx(graph)
}

const measure = async (device: DeviceKind): Promise<Outcome> => {
  const runtime = await OrtRuntime.make({ device, threads: 0 })
  const program = await runtime.load(model())
  const feeds = { factor: await runtime.put(matrix(1 / size)), ones: await runtime.put(matrix(1)) }
  // The first run also compiles.
  await runtime.run(program, feeds)
  const start = performance.now()
  const { host } = await runtime.run(program, feeds)
  const seconds = (performance.now() - start) / 1000
  await runtime.close()
  const wrong = [...(host["sums"]?.data ?? [])].find((sum) => Number(sum) !== size)
  if (wrong !== undefined) return { failure: `it calculates wrongly: a sum of ${size} ones is ${wrong}` }
  return { gflops: (2 * products * size ** 3) / seconds / 1e9 }
}

const outcome = await measure(process.argv[2] as DeviceKind).catch((cause: unknown): Outcome => ({
  failure: cause instanceof Error ? cause.message : String(cause)
}))
process.send?.(outcome)
process.disconnect()
