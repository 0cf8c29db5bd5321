/**
 * The process of `Device.trial`: checks and times matmuls on the device named on the command line.
 *
 * A process rather than a thread, because a crashing driver takes its process down. Sends one `Outcome`.
 */
import { Graph } from "../graph/Graph.ts"
import { toOnnx } from "../graph/Onnx.ts"
import type { DeviceKind, HostTensor } from "./Executor.ts"
import * as OrtRuntime from "./OrtRuntime.ts"

/** Billions of float32 multiplications and additions per second; or the error. */
export type Outcome = { readonly gflops: number } | { readonly failure: string }

const size = 1024
const products = 4

/** Ones, multiplied by matrices of 1 / size, remain ones exactly, in float32 and in lower precision too. */
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
  if (wrong !== undefined) return { failure: `it computes wrong results: a sum of ${size} ones is ${wrong}` }
  return { gflops: (2 * products * size ** 3) / seconds / 1e9 }
}

const outcome = await measure(process.argv[2] as DeviceKind).catch((cause: unknown): Outcome => ({
  failure: cause instanceof Error ? cause.message : String(cause)
}))
process.send?.(outcome)
process.disconnect()
