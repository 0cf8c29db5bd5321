/**
 * What runs graphs: loads models, runs them, and keeps tensors where they are used.
 *
 * The service knows nothing of who runs them. Two layers: `Ort.layer` in the calling thread (engine threads, scripts,
 * tests) and `OrtWorker.layer` in a thread of its own (programs: a run blocks its thread until it is through). Inputs
 * are checked against what the model declares before anything runs. A run that has begun cannot be stopped; an
 * interrupted caller does not wait for it.
 */
// By module: threads load this file, and the index of effect would bring all of it.
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

/** Values that stay with the executor, until they are freed or its layer is closed. */
export interface Resident {
  readonly id: number
  readonly dtype: TensorType
  readonly shape: ReadonlyArray<number>
}

export const isResident = (tensor: HostTensor | Resident): tensor is Resident => "id" in tensor

export type ExecutorFailure =
  | "device" // the device cannot be used
  | "model" // the model cannot be loaded
  | "input" // an input is missing, or is not what the model declares
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
  /** For people: what it is, and why it was chosen. */
  readonly detail: string
}

export interface LoadOptions {
  /**
   * Rearranges constant matrices when the model is loaded, at the price of a copy of them in memory of its own. On the
   * CPU products of up to 8 rows (decoding) are then 2 to 10 times as fast, of 256 rows and more (training) hardly
   * faster. Default false.
   */
  readonly prepack?: boolean
  /** Merges and reorders operations. Default "all"; "basic" for float64, which the merged kernels do not know. */
  readonly optimization?: "basic" | "all"
  /** Outputs left in a GPU's memory, where they are kept without a way round by the host. Default none. */
  readonly stay?: ReadonlyArray<string>
}

export interface RunOptions {
  /** Outputs to bring back. Default: all that are neither kept nor written in place. */
  readonly fetch?: ReadonlyArray<string>
  /** Outputs that stay with the executor as new residents. */
  readonly keep?: ReadonlyArray<string>
  /**
   * Outputs written over residents of their shape. One that is an input of the same run is the same memory on the CPU:
   * right only for operations that may work in place (elementwise ones, attention with a shared cache). After a failed
   * run their values are undefined.
   */
  readonly into?: { readonly [output: string]: Resident }
  /**
   * The caller gives the fed arrays up: they are not copied to another thread but moved there, and are empty
   * afterwards.
   */
  readonly transfer?: boolean
}

export interface Results {
  readonly host: { readonly [output: string]: HostTensor }
  readonly kept: { readonly [output: string]: Resident }
}

export interface Program {
  readonly run: (
    feeds: { readonly [input: string]: HostTensor | Resident },
    options?: RunOptions
  ) => Effect.Effect<Results, ExecutorError>
}

export interface ExecutorShape {
  readonly device: Device
  /** Released with the scope. Constants in files are mapped into memory where they lie. */
  readonly load: (model: OnnxModel, options?: LoadOptions) => Effect.Effect<Program, ExecutorError, Scope.Scope>
  /** Takes the array over: it is not to be used afterwards. On WebGPU the values move to the device. */
  readonly put: (tensor: HostTensor) => Effect.Effect<Resident, ExecutorError>
  /**
   * Writes values into a resident, from element `offset` on (on WebGPU by way of the host: all of it goes down and up
   * again).
   */
  readonly update: (
    resident: Resident,
    offset: number,
    values: HostTensor["data"]
  ) => Effect.Effect<void, ExecutorError>
  /** A copy. */
  readonly read: (resident: Resident) => Effect.Effect<HostTensor, ExecutorError>
  readonly free: (resident: Resident) => Effect.Effect<void>
}

export class Executor extends Context.Service<Executor, ExecutorShape>()("@atropos/trainer/exec/Executor") {}
