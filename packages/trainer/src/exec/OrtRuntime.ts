/**
 * Wraps ONNX Runtime in promises; called directly by `Ort` and in the thread of `OrtWorker`. Fails with
 * `ExecutorError`.
 *
 * Residents are in GPU memory with WebGPU and in host memory otherwise (the CUDA provider only takes and returns host
 * memory). Graph inputs and outputs are never half floats: the binding cannot read them.
 */
import * as Reason from "@atropos/core/base/Reason"
import type * as Ort from "onnxruntime-common"
import type { OnnxModel } from "../graph/Onnx.ts"
import {
  type DeviceTensor,
  ExecutorError,
  type HostTensor,
  isDeviceTensor,
  type LoadOptions,
  type Results,
  type RunOptions,
  type TensorType
} from "./Executor.ts"
import * as Feeds from "./Feeds.ts"
import * as Library from "./Library.ts"
import * as OrtSession from "./OrtSession.ts"
import type { GpuMemory } from "./GpuMemory.ts"

/** Holds the tensors that stay with an executor between runs: in GPU memory if available, else in host memory. */
interface OrtDeviceTensors {
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
const makeDeviceTensors = (memory: GpuMemory | undefined): OrtDeviceTensors => {
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

export interface Runtime {
  readonly load: (model: OnnxModel, options?: LoadOptions) => Promise<number>
  readonly release: (program: number) => Promise<void>
  readonly run: (
    program: number,
    feeds: { readonly [input: string]: HostTensor | DeviceTensor },
    options?: RunOptions
  ) => Promise<Results>
  readonly put: (tensor: HostTensor) => Promise<DeviceTensor>
  readonly update: (resident: DeviceTensor, offset: number, values: HostTensor["data"]) => Promise<void>
  readonly read: (resident: DeviceTensor) => Promise<HostTensor>
  readonly free: (resident: DeviceTensor) => void
  readonly close: () => Promise<void>
}

interface Session {
  readonly session: Ort.InferenceSession
  readonly inputs: ReadonlyMap<string, Feeds.Declared>
  readonly outputs: ReadonlyArray<string>
  /** The binding cannot omit outputs of a run whose outputs stay on the device. */
  readonly demandsAll: boolean
}

const fail = (reason: ExecutorError["reason"], message: string, cause?: unknown) =>
  new ExecutorError({ reason, message, ...(cause !== undefined && { cause }) })

/** For a tensor in host memory; graphs only have outputs of these types. */
const toHost = ({ data, dims, type }: Ort.Tensor): HostTensor => ({
  dtype: type as TensorType,
  shape: dims,
  data: data as HostTensor["data"]
})

/** Imported lazily: its graph builder takes longer to load than everything else that a CPU thread needs. */
const openMemory = async (ort: typeof Ort, options: OrtSession.RuntimeOptions) => {
  const { make: makeMemory } = await import("./GpuMemory.ts")
  return makeMemory((onnx, more) =>
    ort.InferenceSession.create(onnx, { ...OrtSession.options(options, {}, undefined), ...more })
  )
}

/** Loads the library, on first use, and opens the device. */
export const make = async (options: OrtSession.RuntimeOptions): Promise<Runtime> => {
  const { device } = options
  const ort = Library.load()
  const sessions = new Map<number, Session>()
  let lastId = 0

  const memory =
    device === "webgpu"
      ? await openMemory(ort, options).catch((cause: unknown) => {
          throw fail("device", `${device} cannot be used: ${Reason.of(cause).trim()}`, cause)
        })
      : undefined

  const residents = makeDeviceTensors(memory)
  const toTensor = ({ data, dtype, shape }: HostTensor): Ort.Tensor => new ort.Tensor(dtype, data, shape)

  const load = async ({ external, inputs, onnx }: OnnxModel, loadOptions: LoadOptions = {}): Promise<number> => {
    const session: Ort.InferenceSession = await ort.InferenceSession.create(
      onnx,
      OrtSession.options(options, loadOptions, external.folder)
    ).catch((cause: unknown) => {
      throw fail("model", `the model cannot be loaded on ${device}: ${Reason.of(cause).trim()}`, cause)
    })
    const id = ++lastId
    sessions.set(id, {
      session,
      inputs:
        inputs === undefined
          ? Feeds.declared(session.inputMetadata)
          : new Map(inputs.map(({ dtype, name, shape }) => [name, { type: dtype, shape }])),
      outputs: session.outputNames,
      demandsAll: memory !== undefined && (loadOptions.stay ?? []).length > 0
    })
    return id
  }

  const run: Runtime["run"] = async (program, feeds, { fetch, into = {}, keep: kept = [] } = {}) => {
    const loaded = sessions.get(program)
    if (loaded === undefined) throw fail("run", "the program has been released")
    const { demandsAll, inputs, outputs, session } = loaded
    const problem = Feeds.problem(inputs, feeds) ?? Feeds.outputProblem(outputs, { fetch, kept, into })
    if (problem !== undefined) throw fail("input", problem)
    const expected = new Set([...(fetch ?? outputs), ...kept, ...Object.keys(into)])
    const tensors: Record<string, Ort.Tensor> = {}
    for (const [name, feed] of Object.entries(feeds)) {
      tensors[name] = isDeviceTensor(feed) ? residents.get(feed, name) : toTensor(feed)
    }
    const fetches: Record<string, Ort.Tensor | null> = {}
    for (const name of demandsAll ? outputs : expected) {
      const target = into[name] === undefined ? undefined : residents.get(into[name], name)
      // On a GPU the binding does not write into given tensors: the result replaces the resident's tensor instead.
      fetches[name] = target === undefined || memory !== undefined ? null : target
    }
    const results = await session.run(tensors, fetches).catch((cause: unknown) => {
      throw fail("run", `the run failed: ${Reason.of(cause).trim()}`, cause)
    })
    const misfit = Object.entries(into).find(([name, { dtype, shape }]) => {
      const { dims, type } = results[name]!
      return type !== dtype || dims.join() !== shape.join()
    })?.[0]
    if (misfit !== undefined) {
      for (const tensor of Object.values(results)) if (tensor.location !== "cpu") tensor.dispose()
      const { dims, type } = results[misfit]!
      throw fail(
        "run",
        `the output ${misfit} is ${type} [${dims.join(", ")}], unlike the device tensor it is to replace`
      )
    }
    const host: Record<string, HostTensor> = {}
    const keptResults: Record<string, DeviceTensor> = {}
    for (const [name, tensor] of Object.entries(results)) {
      const target = into[name]
      if (target !== undefined) await residents.replace(target, tensor)
      else if (kept.includes(name)) keptResults[name] = await residents.add(tensor)
      else {
        if (expected.has(name)) host[name] = toHost(await residents.toHostMemory(tensor))
        if (tensor.location !== "cpu") tensor.dispose()
      }
    }
    return { host, kept: keptResults }
  }

  return {
    load,
    run,
    release: async (program) => {
      const loaded = sessions.get(program)
      sessions.delete(program)
      await loaded?.session.release()
    },
    put: async (tensor) => {
      const problem = Feeds.lengthProblem(tensor)
      if (problem !== undefined) throw fail("input", `the tensor ${problem}`)
      return residents.add(toTensor(tensor))
    },
    update: async (resident, offset, values) => {
      const tensor = residents.get(resident, "update")
      const whole = await residents.toHostMemory(tensor)
      const host = toHost(whole)
      const problem = Feeds.updateProblem(host, offset, values)
      if (problem !== undefined) throw fail("input", problem)
      // Checked above to have the same type.
      ;(host.data as Float32Array).set(values as Float32Array, offset)
      if (whole !== tensor) await residents.replace(resident, whole)
    },
    read: async (resident) => {
      const tensor = residents.get(resident, "read")
      const { data, ...rest } = toHost(await residents.toHostMemory(tensor))
      return { ...rest, data: tensor.location === "cpu" ? data.slice() : data }
    },
    free: residents.free,
    close: async () => {
      residents.freeAll()
      const open = [...sessions.values()]
      sessions.clear()
      for (const { session } of open) await session.release()
      await memory?.close()
    }
  }
}
