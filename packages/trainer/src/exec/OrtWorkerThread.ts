/** Worker thread of `OrtWorker`: runs commands one at a time, in order, and answers each. */
import { parentPort, workerData } from "node:worker_threads"
import { ExecutorError, type ExecutorFailure, type HostTensor, type DeviceTensor, type Results } from "./Executor.ts"
import type { LoadOptions, RunOptions } from "./Executor.ts"
import type { OnnxModel } from "../graph/Onnx.ts"
import * as OrtRuntime from "./OrtRuntime.ts"
import type { RuntimeOptions } from "./OrtSession.ts"

export type Command =
  | { readonly command: "load"; readonly model: OnnxModel; readonly options: LoadOptions | undefined }
  | { readonly command: "release"; readonly program: number }
  | {
      readonly command: "run"
      readonly program: number
      readonly feeds: { readonly [input: string]: HostTensor | DeviceTensor }
      readonly options: RunOptions | undefined
    }
  | { readonly command: "put"; readonly tensor: HostTensor }
  | {
      readonly command: "update"
      readonly resident: DeviceTensor
      readonly offset: number
      readonly values: HostTensor["data"]
    }
  | { readonly command: "read" | "free"; readonly resident: DeviceTensor }

/** Result of a command; the same keys for all, of which the caller picks its own. */
export interface Answer {
  readonly program?: number
  readonly results?: Results
  readonly resident?: DeviceTensor
  readonly tensor?: HostTensor
}

export interface Request {
  readonly id: number
  readonly command: Command
}

/** Ends the thread, after all earlier requests. */
export interface Closing {
  readonly close: true
}

export type Reply =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly reason: ExecutorFailure; readonly message: string }

const port = parentPort
if (port === null) throw new Error("this module must run in a worker thread")

const opening = OrtRuntime.make(workerData as RuntimeOptions)

const perform = async (command: Command): Promise<Answer> => {
  const runtime = await opening
  switch (command.command) {
    case "load":
      return { program: await runtime.load(command.model, command.options) }
    case "release":
      await runtime.release(command.program)
      return {}
    case "run":
      return { results: await runtime.run(command.program, command.feeds, command.options) }
    case "put":
      return { resident: await runtime.put(command.tensor) }
    case "update":
      await runtime.update(command.resident, command.offset, command.values)
      return {}
    case "read":
      return { tensor: await runtime.read(command.resident) }
    case "free":
      runtime.free(command.resident)
      return {}
  }
}

/** Buffers transferred without a copy: each once, and only whole ones. */
const transferable = ({ results, tensor }: Answer): Array<ArrayBuffer> => {
  const tensors = [...Object.values(results?.host ?? {}), ...(tensor === undefined ? [] : [tensor])]
  const buffers = new Set<ArrayBuffer>()
  for (const { data } of tensors) if (data.buffer instanceof ArrayBuffer) buffers.add(data.buffer)
  return [...buffers]
}

const answer = async ({ command, id }: Request): Promise<void> => {
  try {
    const answer = await perform(command)
    port.postMessage({ id, answer } satisfies Reply, transferable(answer))
  } catch (cause) {
    const error =
      cause instanceof ExecutorError ? cause : new ExecutorError({ reason: "run", message: String(cause), cause })
    port.postMessage({ id, reason: error.reason, message: error.message } satisfies Reply, [])
  }
}

const close = async (): Promise<void> => {
  const runtime = await opening
  await runtime.close()
  port.close()
}

// One after another: the library must not be called concurrently.
let last: Promise<void> = Promise.resolve()
port.on("message", (request: Request | Closing) => {
  last = last.then(() => ("close" in request ? close() : answer(request)))
})
