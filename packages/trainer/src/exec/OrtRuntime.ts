/**
 * ONNX Runtime behind plain promises: what `Ort` calls directly and `OrtWorker` from its thread. Fails with `ExecutorError`.
 *
 * Settings of every session, with what was measured of them: weights are not rearranged unless asked (that would hold them twice),
 * memory is not reserved by pattern (that doubles it for long sequences), graph inputs and outputs are never half floats (the
 * binding cannot read them).
 */
import { availableParallelism } from "node:os"
import type * as Ort from "onnxruntime-node"
import {
  type DeviceKind,
  ExecutorError,
  type HostTensor,
  isResident,
  type LoadOptions,
  type Resident,
  type Results,
  type RunOptions,
  type TensorType
} from "./Executor.ts"
import type { OnnxModel } from "../graph/Onnx.ts"
import * as Feeds from "./Feeds.ts"

export interface RuntimeOptions {
  readonly device: DeviceKind
  /** Threads of the CPU device; 0: one for each core. */
  readonly threads: number
}

export interface Runtime {
  readonly load: (model: OnnxModel, options?: LoadOptions) => Promise<number>
  readonly release: (program: number) => Promise<void>
  readonly run: (
    program: number,
    feeds: { readonly [input: string]: HostTensor | Resident },
    options?: RunOptions
  ) => Promise<Results>
  readonly put: (tensor: HostTensor) => Resident
  readonly update: (resident: Resident, offset: number, values: HostTensor["data"]) => void
  readonly read: (resident: Resident) => Promise<HostTensor>
  readonly free: (resident: Resident) => void
  readonly close: () => Promise<void>
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).trim()

interface Session {
  readonly session: Ort.InferenceSession
  readonly inputs: ReadonlyMap<string, Feeds.Declared>
  readonly outputs: ReadonlySet<string>
}

const fail = (reason: ExecutorError["reason"], message: string, cause?: unknown) =>
  new ExecutorError({ reason, message, ...(cause !== undefined && { cause }) })

const toHost = async (tensor: Ort.Tensor): Promise<HostTensor> => {
  // Graphs have outputs of these types only.
  const data = (tensor.location === "cpu" ? tensor.data : await tensor.getData()) as HostTensor["data"]
  return { dtype: tensor.type as TensorType, shape: tensor.dims, data }
}

/** Loads the library; nothing of it is loaded before. */
export const make = async ({ device, threads }: RuntimeOptions): Promise<Runtime> => {
  const ort = await import("onnxruntime-node")
  const sessions = new Map<number, Session>()
  const residents = new Map<number, Ort.Tensor>()
  let lastId = 0

  const toTensor = ({ data, dtype, shape }: HostTensor): Ort.Tensor => new ort.Tensor(dtype, data, shape)

  const residentOf = ({ id }: Resident, name: string): Ort.Tensor => {
    const tensor = residents.get(id)
    if (tensor === undefined) throw fail("input", `${name}: this resident has been freed, or is another executor's`)
    return tensor
  }

  const keep = (tensor: Ort.Tensor): Resident => {
    const id = ++lastId
    residents.set(id, tensor)
    return { id, dtype: tensor.type as TensorType, shape: tensor.dims }
  }

  const load = async ({ external, onnx }: OnnxModel, options: LoadOptions = {}): Promise<number> => {
    const session: Ort.InferenceSession = await ort.InferenceSession.create(onnx, {
      executionProviders: device === "cpu" ? ["cpu"] : [device, "cpu"],
      logSeverityLevel: 4,
      enableMemPattern: false,
      executionMode: "sequential",
      graphOptimizationLevel: options.optimization ?? "all",
      intraOpNumThreads: threads > 0 ? threads : availableParallelism(),
      ...(device === "webgpu" && { preferredOutputLocation: "gpu-buffer" as const }),
      extra: {
        session: {
          disable_prepacking: options.prepack === true ? "0" : "1",
          ...(external.folder !== undefined && { model_external_initializers_file_folder_path: external.folder })
        }
      }
    }).catch((cause: unknown) => {
      throw fail("model", `the model cannot be loaded on ${device}: ${messageOf(cause)}`, cause)
    })
    const id = ++lastId
    sessions.set(id, {
      session,
      inputs: Feeds.declared(session.inputMetadata),
      outputs: new Set(session.outputNames)
    })
    return id
  }

  const run: Runtime["run"] = async (program, feeds, { fetch, into = {}, keep: kept = [] } = {}) => {
    const found = sessions.get(program)
    if (found === undefined) throw fail("run", "the program has been released")
    const { inputs, outputs, session } = found
    const names = new Set([...(fetch ?? outputs), ...kept, ...Object.keys(into)])
    for (const name of names) {
      if (!outputs.has(name)) throw fail("input", `the model has no output ${name}; it has ${[...outputs].join(", ")}`)
    }
    const problem = Feeds.problem(inputs, feeds)
    if (problem !== undefined) throw fail("input", problem)
    const tensors: Record<string, Ort.Tensor> = {}
    for (const [name, feed] of Object.entries(feeds)) {
      tensors[name] = isResident(feed) ? residentOf(feed, name) : toTensor(feed)
    }
    const fetches: Record<string, Ort.Tensor | null> = {}
    for (const name of names) fetches[name] = into[name] === undefined ? null : residentOf(into[name], name)
    const results = await session.run(tensors, fetches).catch((cause: unknown) => {
      throw fail("run", `the run failed: ${messageOf(cause)}`, cause)
    })
    const host: Record<string, HostTensor> = {}
    const keptResults: Record<string, Resident> = {}
    for (const [name, tensor] of Object.entries(results)) {
      if (kept.includes(name)) keptResults[name] = keep(tensor)
      else if (into[name] === undefined) {
        host[name] = await toHost(tensor)
        if (tensor.location !== "cpu") tensor.dispose()
      }
    }
    return { host, kept: keptResults }
  }

  return {
    load,
    run,
    release: async (program) => {
      const found = sessions.get(program)
      sessions.delete(program)
      await found?.session.release()
    },
    put: (tensor) => {
      const problem = Feeds.lengthProblem(tensor)
      if (problem !== undefined) throw fail("input", `the tensor ${problem}`)
      return keep(toTensor(tensor))
    },
    update: (resident, offset, values) => {
      const tensor = residentOf(resident, "update")
      if (tensor.location !== "cpu") throw fail("input", `a resident on ${device} cannot be written from the host`)
      const data = tensor.data as HostTensor["data"]
      if (data.constructor !== values.constructor) throw fail("input", `update: the resident holds ${resident.dtype}`)
      if (offset < 0 || offset + values.length > data.length) {
        throw fail("input", `update: elements ${offset} to ${offset + values.length} of ${data.length}`)
      }
      // Of the same type, as was just checked.
      ;(data as Float32Array).set(values as Float32Array, offset)
    },
    read: async (resident) => {
      const { data, ...rest } = await toHost(residentOf(resident, "read"))
      return { ...rest, data: data.slice() }
    },
    free: ({ id }) => {
      residents.get(id)?.dispose()
      residents.delete(id)
    },
    close: async () => {
      for (const tensor of residents.values()) tensor.dispose()
      residents.clear()
      const open = [...sessions.values()]
      sessions.clear()
      for (const { session } of open) await session.release()
    }
  }
}
