/**
 * Runs ONNX Runtime in a separate thread, so that the caller's event loop never waits for a run. One run at a time, in
 * request order.
 *
 * Arrays are copied to the thread once, or transferred if given up (`put`, and `run` with `transfer`). An interrupted
 * caller does not wait for its run; tensors it would have kept are freed. If the thread ends, all current and later
 * requests fail. A driver crash ends the process.
 */
import * as OnnxTelemetry from "@atropos/core/base/system/OnnxTelemetry"
import * as Thread from "@atropos/core/base/Thread"
import { Effect, Layer } from "effect"
import * as Device from "./Device.ts"
import { Executor, ExecutorError, type HostTensor, isDeviceTensor, type Program } from "./Executor.ts"
import type { Answer, Closing, Command, Reply, Request } from "./OrtWorkerThread.ts"
import type { Options } from "./Ort.ts"
import type { RuntimeOptions } from "./OrtSession.ts"

const workerUrl = Thread.fileBeside(import.meta.url, "OrtWorkerThread")

const ended = (detail: string) =>
  new ExecutorError({ reason: "thread", message: `the thread that runs the graphs has ended${detail}` })

type Values = HostTensor["data"]

/**
 * Values whose whole memory can be transferred to the thread: the caller's own array if it is given up and owns its
 * whole buffer, else a copy.
 */
const movable = (values: Values, isGivenUp: boolean): Values => {
  const isWhole = values.buffer instanceof ArrayBuffer && values.byteLength === values.buffer.byteLength
  return isGivenUp && isWhole ? values : values.slice()
}

const buffersOf = (arrays: ReadonlyArray<Values>): ReadonlyArray<ArrayBuffer> => [
  // Two inputs may be the same array. `movable` ensures that the memory is not shared.
  ...new Set(arrays.map(({ buffer }) => buffer as ArrayBuffer))
]

type Feeds = Parameters<Program["run"]>[0]

const movableFeeds = (feeds: Feeds, isGivenUp: boolean): Feeds =>
  Object.fromEntries(
    Object.entries(feeds).map(([name, feed]) => [
      name,
      isDeviceTensor(feed) ? feed : { ...feed, data: movable(feed.data, isGivenUp) }
    ])
  )

const makeThread = Effect.fnUntraced(function* (options: RuntimeOptions) {
  const waiting = new Map<number, (reply: Answer | ExecutorError) => void>()
  let failure: ExecutorError | undefined
  let lastId = 0
  const worker = yield* Effect.acquireRelease(
    Effect.try({
      try: () => {
        OnnxTelemetry.disable()
        return Thread.spawn(workerUrl, { workerData: options, name: "executor" })
      },
      catch: (cause) => new ExecutorError({ reason: "thread", message: `cannot start a thread: ${String(cause)}` })
    }),
    // Not `terminate`, which may hit a run: the library then throws an uncaught exception and aborts the process.
    (thread) =>
      Effect.callback<void>((resume) => {
        if (failure !== undefined) return resume(Effect.void)
        thread.once("exit", () => resume(Effect.void))
        thread.ref()
        thread.postMessage({ close: true } satisfies Closing, [])
      })
  )
  const failAll = (error: ExecutorError) => {
    failure ??= error
    for (const take of waiting.values()) take(failure)
    waiting.clear()
  }
  worker.on("error", (error) => failAll(ended(`: ${error instanceof Error ? error.message : String(error)}`)))
  worker.on("exit", () => failAll(ended("")))
  worker.on("message", (reply: Reply) => {
    const take = waiting.get(reply.id)
    waiting.delete(reply.id)
    if (waiting.size === 0) worker.unref()
    take?.("answer" in reply ? reply.answer : new ExecutorError({ reason: reply.reason, message: reply.message }))
  })
  // The thread must not keep the process alive.
  worker.unref()

  const post = (
    command: Command,
    transfer: ReadonlyArray<ArrayBuffer>,
    take: (reply: Answer | ExecutorError) => void
  ): number => {
    const id = ++lastId
    waiting.set(id, take)
    worker.ref()
    worker.postMessage({ id, command } satisfies Request, [...transfer])
    return id
  }
  const send = (command: Command): void => {
    if (failure === undefined) post(command, [], () => {})
  }
  const freeAll = ({ resident, results }: Answer): void => {
    for (const kept of Object.values(results?.kept ?? {})) send({ command: "free", resident: kept })
    if (resident !== undefined) send({ command: "free", resident })
  }
  return (command: Command, transfer: ReadonlyArray<ArrayBuffer> = []) =>
    Effect.callback<Answer, ExecutorError>((resume) => {
      if (failure !== undefined) return resume(Effect.fail(failure))
      const id = post(command, transfer, (reply) =>
        resume(reply instanceof ExecutorError ? Effect.fail(reply) : Effect.succeed(reply))
      )
      // The caller was interrupted: frees what it would have had to free.
      return Effect.sync(() => {
        waiting.set(id, (late) => (late instanceof ExecutorError ? undefined : freeAll(late)))
      })
    })
})

/** The executor of a device that is known to work. */
export const make = Effect.fn("OrtWorker.make")(function* (options: RuntimeOptions, detail?: string) {
  const ask = yield* makeThread(options)
  return Executor.of({
    device: { kind: options.device, detail: detail ?? Device.describe(options.device) },
    load: (model, load) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.map(ask({ command: "load", model, options: load }), ({ program }) => program!),
          (program) => Effect.ignore(ask({ command: "release", program }))
        ),
        (program) => ({
          run: (feeds, run) =>
            Effect.suspend(() => {
              const moved = movableFeeds(feeds, run?.transfer === true)
              const arrays = Object.values(moved).flatMap((feed) => (isDeviceTensor(feed) ? [] : [feed.data]))
              const command = { command: "run", program, feeds: moved, options: run } as const
              return Effect.map(ask(command, buffersOf(arrays)), ({ results }) => results!)
            })
        })
      ),
    put: (tensor) =>
      Effect.suspend(() => {
        const data = movable(tensor.data, true)
        const command = { command: "put", tensor: { ...tensor, data } } as const
        return Effect.map(ask(command, buffersOf([data])), ({ resident }) => resident!)
      }),
    update: (resident, offset, values) =>
      Effect.suspend(() => {
        const moved = movable(values, false)
        return Effect.asVoid(ask({ command: "update", resident, offset, values: moved }, buffersOf([moved])))
      }),
    read: (resident) => Effect.map(ask({ command: "read", resident }), ({ tensor }) => tensor!),
    free: (resident) => Effect.ignore(ask({ command: "free", resident }))
  })
})

export const layer = ({ device = "cpu", threads = 0 }: Options = {}): Layer.Layer<Executor, ExecutorError> =>
  Layer.effect(
    Executor,
    Effect.gen(function* () {
      const { detail, kind } = yield* Device.resolve(device)
      return yield* make({ device: kind, threads }, detail)
    })
  )
