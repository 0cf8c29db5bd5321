/**
 * Copies tensors to and from the memory of a WebGPU device.
 *
 * ONNX Runtime's Node binding has no such copies (`Tensor.getData` of a GPU tensor crashes the process), so each is a
 * run of a one-Identity model. float64, which WebGPU lacks, and empty tensors stay in host memory. Freeing a tensor
 * after its session crashes the process, so tensors of other sessions are copied too. The device is opened immediately.
 */
import type * as Ort from "onnxruntime-common"
import { Graph } from "../graph/Graph.ts"
import { toOnnx } from "../graph/Onnx.ts"
import type { TensorType } from "./Executor.ts"

export interface GpuMemory {
  /**
   * A copy on the device that lasts until `close`, and frees the given tensor; or the tensor itself if it stays on the
   * host.
   */
  readonly upload: (tensor: Ort.Tensor) => Promise<Ort.Tensor>
  /** A copy on the host, or the tensor itself if it is already there. */
  readonly download: (tensor: Ort.Tensor) => Promise<Ort.Tensor>
  readonly close: () => Promise<void>
}

type Direction = "up" | "down"

const copyModel = (dtype: TensorType, rank: number): Uint8Array => {
  const graph = new Graph()
  const axes = Array.from({ length: rank }, (_, axis) => `D${axis}`)
  graph.output("to", graph.input("from", dtype, axes))
  return toOnnx(graph).onnx
}

type Open = (onnx: Uint8Array, options: Ort.InferenceSession.SessionOptions) => Promise<Ort.InferenceSession>

export const make = async (open: Open): Promise<GpuMemory> => {
  const sessions = new Map<string, Promise<Ort.InferenceSession>>()

  const sessionFor = (direction: Direction, dtype: TensorType, rank: number): Promise<Ort.InferenceSession> => {
    const key = `${direction} ${dtype} ${rank}`
    const place = direction === "up" ? "gpu-buffer" : "cpu"
    const session = sessions.get(key) ?? open(copyModel(dtype, rank), { preferredOutputLocation: place })
    sessions.set(key, session)
    return session
  }

  const copy = async (direction: Direction, tensor: Ort.Tensor): Promise<Ort.Tensor> => {
    // Residents only have these types.
    const session = await sessionFor(direction, tensor.type as TensorType, tensor.dims.length)
    return (await session.run({ from: tensor }))["to"]!
  }

  await sessionFor("up", "float32", 1)
  return {
    upload: async (tensor) => {
      if (tensor.location === "cpu" && (tensor.type === "float64" || tensor.size === 0)) return tensor
      const uploaded = await copy("up", tensor)
      if (tensor.location !== "cpu") tensor.dispose()
      return uploaded
    },
    download: async (tensor) => (tensor.location === "cpu" ? tensor : copy("down", tensor)),
    close: async () => {
      const opened = [...sessions.values()]
      sessions.clear()
      for (const session of opened) await (await session).release()
    }
  }
}
