/**
 * Interface of a graph executor: loads models, runs them, and keeps tensors where they are used.
 *
 * `Ort.layer` runs in the calling thread, which a run blocks; `OrtWorker.layer` in a separate one. Inputs are checked
 * against the model's declarations. A run cannot be cancelled; an interrupted caller does not wait for it.
 */
// Imported by module: threads load this file, and effect's index would load all of it.
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type { Effect, Scope } from "effect"
import type { OnnxModel } from "../graph/Onnx.ts"

export type TensorType = "float32" | "float64" | "int32" | "int64" | "bool"

/** Values in this process's memory, row-major; booleans are bytes 0 and 1. */
export interface HostTensor {
  readonly dtype: TensorType
  readonly shape: ReadonlyArray<number>
  readonly data: Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array
}

/** Values held by the executor, until they are freed or its layer is closed. */
export interface DeviceTensor {
  readonly id: number
  readonly dtype: TensorType
  readonly shape: ReadonlyArray<number>
}

export const isDeviceTensor = (tensor: HostTensor | DeviceTensor): tensor is DeviceTensor => "id" in tensor

export type ExecutorFailure =
  | "device" // the device cannot be used
  | "model" // the model cannot be loaded
  | "input" // an input is missing, or differs from the model's declaration
  | "run" // the run failed
  | "thread" // the executor's thread ended

export class ExecutorError extends Data.TaggedError("ExecutorError")<{
  readonly reason: ExecutorFailure
  readonly message: string
  readonly cause?: unknown
}> {}

export type DeviceKind = "cpu" | "webgpu" | "cuda"

export interface Device {
  readonly kind: DeviceKind
  /** Description for the user: the device, and why it was chosen. */
  readonly detail: string
}

export interface LoadOptions {
  /**
   * Prepack constant matrices when the model is loaded, at the cost of a private copy. On the CPU matmuls of up to 8
   * rows (decoding) are then 2 to 10 times as fast, those of 256 rows and more (training) hardly faster. Default false.
   */
  readonly prepack?: boolean
  /**
   * Graph optimizations that fuse and reorder operations. Default "all"; "basic" for float64, which fused kernels do
   * not support.
   */
  readonly optimization?: "basic" | "all"
  /** Outputs left in GPU memory, where they can be kept without a copy through the host. Default none. */
  readonly stay?: ReadonlyArray<string>
}

export interface RunOptions {
  /** Outputs to return. Default: all that are neither kept nor written in place. */
  readonly fetch?: ReadonlyArray<string>
  /** Outputs that stay with the executor as new residents. */
  readonly keep?: ReadonlyArray<string>
  /**
   * Outputs written into residents of the same shape. If one is also an input of the run, both share memory on the CPU:
   * correct only for operations that may work in place (elementwise ones, attention with a shared cache). After a
   * failed run their values are undefined.
   */
  readonly into?: { readonly [output: string]: DeviceTensor }
  /** Transfers the fed arrays to another thread instead of copying them; they are empty afterwards. */
  readonly transfer?: boolean
}

export interface Results {
  readonly host: { readonly [output: string]: HostTensor }
  readonly kept: { readonly [output: string]: DeviceTensor }
}

export interface Program {
  readonly run: (
    feeds: { readonly [input: string]: HostTensor | DeviceTensor },
    options?: RunOptions
  ) => Effect.Effect<Results, ExecutorError>
}

export interface ExecutorShape {
  readonly device: Device
  /** Released with the scope. Constants in files are memory-mapped. */
  readonly load: (model: OnnxModel, options?: LoadOptions) => Effect.Effect<Program, ExecutorError, Scope.Scope>
  /** Takes ownership of the array: do not use it afterwards. On WebGPU the values move to the device. */
  readonly put: (tensor: HostTensor) => Effect.Effect<DeviceTensor, ExecutorError>
  /**
   * Writes values into a resident, from element `offset` on (on WebGPU through the host: the whole tensor is downloaded
   * and uploaded).
   */
  readonly update: (
    resident: DeviceTensor,
    offset: number,
    values: HostTensor["data"]
  ) => Effect.Effect<void, ExecutorError>
  /** A copy. */
  readonly read: (resident: DeviceTensor) => Effect.Effect<HostTensor, ExecutorError>
  readonly free: (resident: DeviceTensor) => Effect.Effect<void>
}

export class Executor extends Context.Service<Executor, ExecutorShape>()("@atropos/trainer/exec/Executor") {}
