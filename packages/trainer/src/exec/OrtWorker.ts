/**
 * ONNX Runtime in a thread of its own: the caller's event loop never waits for a run. One run at a time, in the order of asking.
 *
 * Inputs are copied to the thread (give large ones to `put` once), outputs come back by transfer. An interrupted caller does not
 * wait for its run; what it would have kept is freed. If the thread ends, every request in it fails, and so does every later one.
 */
import { Effect, Layer } from "effect"
import { Worker } from "node:worker_threads"
import * as Device from "./Device.ts"
import { Executor, ExecutorError, type HostTensor, type Resident } from "./Executor.ts"
import type { Answer, Command, Reply, Request } from "./internal/ortWorker.ts"
import type { RuntimeOptions } from "./OrtRuntime.ts"

// Beside this file, as source or as compiled.
const workerUrl = new URL(`./internal/ortWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

const ended = (detail: string) =>
  new ExecutorError({ reason: "thread", message: `the thread that runs the graphs has ended${detail}` })

/** Whole, unshared memory, which can be transferred. */
const owned = ({ data, ...rest }: HostTensor): HostTensor & { readonly data: { readonly buffer: ArrayBuffer } } => {
  const isWhole = data.buffer instanceof ArrayBuffer && data.byteLength === data.buffer.byteLength
  // A copy has a buffer of its own.
  return { ...rest, data: isWhole ? data : data.slice() } as HostTensor & {
    readonly data: { readonly buffer: ArrayBuffer }
  }
}

/** Requests by number, and the thread they are in. */
const makeThread = Effect.fnUntraced(function* (options: RuntimeOptions) {
  const waiting = new Map<number, (reply: Effect.Effect<Answer, ExecutorError>) => void>()
  let failure: ExecutorError | undefined
  let lastId = 0
  const worker = yield* Effect.acquireRelease(
    Effect.try({
      try: () => new Worker(workerUrl, { workerData: options, name: "executor" }),
      catch: (cause) => new ExecutorError({ reason: "thread", message: `no thread could be started: ${String(cause)}` })
    }),
    (thread) => Effect.promise(() => thread.terminate())
  )
  const failAll = (error: ExecutorError) => {
    failure ??= error
    for (const resume of waiting.values()) resume(Effect.fail(failure))
    waiting.clear()
  }
  worker.on("error", (error) => failAll(ended(`: ${error instanceof Error ? error.message : String(error)}`)))
  worker.on("exit", () => failAll(ended("")))
  worker.on("message", (reply: Reply) => {
    const resume = waiting.get(reply.id)
    waiting.delete(reply.id)
    if (waiting.size === 0) worker.unref()
    resume?.(
      "answer" in reply
        ? Effect.succeed(reply.answer)
        : Effect.fail(new ExecutorError({ reason: reply.reason, message: reply.message }))
    )
  })
  // The thread alone must not keep a process running.
  worker.unref()

  /** `discard` takes the answer of a request whose caller was interrupted. */
  const ask = (command: Command, transfer: ReadonlyArray<ArrayBuffer> = [], discard?: (answer: Answer) => void) =>
    Effect.callback<Answer, ExecutorError>((resume) => {
      if (failure !== undefined) return resume(Effect.fail(failure))
      const id = ++lastId
      waiting.set(id, resume)
      worker.ref()
      worker.postMessage({ id, command } satisfies Request, [...transfer])
      return Effect.sync(() => {
        waiting.set(id, (late) => {
          Effect.runFork(Effect.ignore(Effect.map(late, (answer) => discard?.(answer))))
        })
      })
    })
  const tell = (command: Command): void => {
    if (failure === undefined) Effect.runFork(Effect.ignore(ask(command)))
  }
  return { ask, tell }
})

/** The executor of a device that is known to work. */
export const make = Effect.fn("OrtWorker.make")(function* (options: RuntimeOptions) {
  const { ask, tell } = yield* makeThread(options)
  const freeAll = ({ resident, results }: Answer) => {
    for (const kept of Object.values(results?.kept ?? {})) tell({ command: "free", resident: kept })
    if (resident !== undefined) tell({ command: "free", resident })
  }
  return Executor.of({
    device: { kind: options.device, detail: Device.describe(options.device) },
    load: (model, load) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.map(ask({ command: "load", model, options: load }), ({ program }) => program!),
          (program) => Effect.ignore(ask({ command: "release", program }))
        ),
        (program) => ({
          run: (feeds, run) =>
            Effect.map(ask({ command: "run", program, feeds, options: run }, [], freeAll), ({ results }) => results!)
        })
      ),
    put: (tensor) =>
      Effect.suspend(() => {
        const own = owned(tensor)
        return Effect.map(ask({ command: "put", tensor: own }, [own.data.buffer], freeAll), ({ resident }) => resident!)
      }),
    update: (resident, offset, values) => Effect.asVoid(ask({ command: "update", resident, offset, values })),
    read: (resident) => Effect.map(ask({ command: "read", resident }), ({ tensor }) => tensor!),
    free: (resident: Resident) => Effect.ignore(ask({ command: "free", resident }))
  })
})

/** Threads 0: one for each core. */
export const layer = ({ device = "cpu", threads = 0 }: Partial<RuntimeOptions> = {}): Layer.Layer<
  Executor,
  ExecutorError
> => Layer.effect(Executor, make({ device, threads }))
