/** Where graphs run, and why there. */
import type { DeviceKind } from "./Executor.ts"

const descriptions: { readonly [Kind in DeviceKind]: string } = {
  cpu: "ONNX Runtime's CPU provider",
  webgpu: "ONNX Runtime's WebGPU provider",
  cuda: "ONNX Runtime's CUDA provider"
}

export const describe = (kind: DeviceKind): string => descriptions[kind]
