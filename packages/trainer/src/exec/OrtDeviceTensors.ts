/** Holds the tensors that stay with an executor between runs: in GPU memory if available, else in host memory. */
import type * as Ort from "onnxruntime-common"
import { ExecutorError, type DeviceTensor, type TensorType } from "./Executor.ts"
import type { GpuMemory } from "./GpuMemory.ts"

export interface OrtDeviceTensors {
  /** Throws an `ExecutorError` that starts with `name` if the resident does not exist. */
  readonly get: (resident: DeviceTensor, name: string) => Ort.Tensor
  readonly add: (tensor: Ort.Tensor) => Promise<DeviceTensor>
  /** Replaces a resident's tensor; it may be the same one, written in place. */
  readonly replace: (resident: DeviceTensor, tensor: Ort.Tensor) => Promise<void>
  /** A tensor with readable numbers: a copy, unless it is in host memory. */
  readonly toHostMemory: (tensor: Ort.Tensor) => Promise<Ort.Tensor>
  readonly free: (resident: DeviceTensor) => void
  readonly freeAll: () => void
}

/** Without `memory` they are in host memory. */
export const make = (memory: GpuMemory | undefined): OrtDeviceTensors => {
  const tensors = new Map<number, Ort.Tensor>()
  let lastId = 0
  const settle = async (tensor: Ort.Tensor): Promise<Ort.Tensor> =>
    memory === undefined ? tensor : memory.upload(tensor)
  return {
    get: ({ id }, name) => {
      const tensor = tensors.get(id)
      if (tensor !== undefined) return tensor
      const message = `${name}: this device tensor was freed, or belongs to another executor`
      throw new ExecutorError({ reason: "input", message })
    },
    add: async (tensor) => {
      const settled = await settle(tensor)
      const id = ++lastId
      tensors.set(id, settled)
      return { id, dtype: settled.type as TensorType, shape: settled.dims }
    },
    replace: async ({ id }, tensor) => {
      const settled = await settle(tensor)
      const old = tensors.get(id)
      if (old !== settled) old?.dispose()
      tensors.set(id, settled)
    },
    toHostMemory: async (tensor) => (memory === undefined ? tensor : memory.download(tensor)),
    free: ({ id }) => {
      tensors.get(id)?.dispose()
      tensors.delete(id)
    },
    freeAll: () => {
      for (const tensor of tensors.values()) tensor.dispose()
      tensors.clear()
    }
  }
}
