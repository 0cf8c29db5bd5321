/**
 * Sends commands to the engine's thread, receives answers and tokens, and restarts it.
 *
 * If it fails, all its requests fail with `EngineFailed`. A new one starts immediately if the old one had worked, else
 * after a delay that doubles up to half a minute, and receives the newest weights of every name.
 */
import * as OnnxTelemetry from "@atropos/core/base/system/OnnxTelemetry"
import * as Thread from "@atropos/core/base/Thread"
import * as Retry from "@atropos/core/base/Retry"
import { Deferred, Effect, type Scope } from "effect"
import type { Worker } from "node:worker_threads"
import type { DeviceKind } from "../exec/Executor.ts"
import type { DecodeModel } from "./DecodeGraph.ts"
import type { EngineSettings } from "./EngineSettings.ts"
import type { Answer, Command, Report, SampledToken } from "./EngineProtocol.ts"
import { EngineFailed } from "./EngineRequests.ts"

export interface Callbacks {
  readonly onToken?: (token: SampledToken) => void
  /** Called once, last. */
  readonly onAnswer: (answer: Answer | EngineFailed) => void
}

/** Weights that a restarted thread loads again. */
export type Load = Omit<Extract<Command, { readonly _tag: "Load" }>, "id" | "_tag">

export interface EngineThread {
  readonly ask: (command: Command, listener: Callbacks) => void
  /** Sends a command without an answer; `Cancel` also removes its request's callbacks. */
  readonly send: (command: Extract<Command, { readonly _tag: "Cancel" | "End" | "Unload" | "Vocabulary" }>) => void
  readonly nextId: () => number
  readonly isUp: () => boolean
  /** True if it reported anything in the last minute; one run may take that long. */
  readonly isHeard: () => boolean
  readonly restarts: () => number
}

export interface Setup {
  readonly model: DecodeModel
  readonly device: DeviceKind
  readonly settings: EngineSettings
}

export interface Closing {
  readonly _tag: "Close"
}

/** From the thread: first `Ready`, then a report per step, `Broken` at the end. */
export type Message =
  | { readonly _tag: "Ready" }
  | ({ readonly _tag: "Report" } & Report)
  | { readonly _tag: "Broken"; readonly message: string }

/** A thread does not report during a run, and one run of a large model may take this long. */
const maxRunMillis = 60_000

const sourceUrl = Thread.fileBeside(import.meta.url, "EngineWorker")

const spawn = (data: Setup): Effect.Effect<Worker, EngineFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        OnnxTelemetry.disable()
        return Thread.spawn(sourceUrl, { workerData: data, name: "engine" })
      },
      catch: (cause) => new EngineFailed({ message: `cannot start a thread: ${String(cause)}`, cause })
    }),
    // Not `terminate`, which may hit a run: the library then throws an uncaught exception and aborts the process.
    (worker) =>
      Effect.callback<void>((resume) => {
        if (worker.threadId < 0) return resume(Effect.void)
        worker.once("exit", () => resume(Effect.void))
        worker.postMessage({ _tag: "Close" } satisfies Closing, [])
      })
  )

/** Starts the thread with `data`; `weights` returns what a restarted thread must load. */
export const make = Effect.fnUntraced(function* (
  data: Setup,
  weights: () => ReadonlyArray<Load>
): Effect.fn.Return<EngineThread, EngineFailed, Scope.Scope> {
  const listeners = new Map<number, Callbacks>()
  const first = yield* Deferred.make<void, EngineFailed>()
  let current: Worker | undefined
  let ids = 0
  let starts = 0
  let heardAt = Number.NEGATIVE_INFINITY

  const failAll = (failure: EngineFailed): void => {
    current = undefined
    const open = [...listeners.values()]
    listeners.clear()
    for (const { onAnswer } of open) onAnswer(failure)
  }

  const onReport = ({ answers, tokens }: Report): void => {
    for (const token of tokens) listeners.get(token.id)?.onToken?.(token)
    for (const answer of answers) {
      const listener = listeners.get(answer.id)
      listeners.delete(answer.id)
      listener?.onAnswer(answer)
    }
  }

  /** Runs one thread until it fails; returns true if it had worked. */
  const run = Effect.gen(function* () {
    const worker = yield* spawn(data)
    starts++
    let worked = false
    const failure = yield* Effect.callback<EngineFailed>((resume) => {
      const end = (reason: string) =>
        resume(Effect.succeed(new EngineFailed({ message: `the engine ended: ${reason}` })))
      worker.on("message", (message: Message) => {
        heardAt = performance.now()
        if (message._tag === "Report") return onReport(message)
        if (message._tag === "Broken") return end(message.message)
        worked = true
        current = worker
        for (const load of weights()) worker.postMessage({ ...load, _tag: "Load", id: ++ids } satisfies Command)
        Deferred.doneUnsafe(first, Effect.void)
      })
      worker.on("error", ({ message }) => end(message))
      worker.on("messageerror", ({ message }) => end(message))
      worker.on("exit", (code) => end(`exit code ${code}`))
    })
    yield* Effect.sync(() => failAll(failure))
    yield* Effect.logError("engine thread failed", { reason: failure.message })
    yield* Deferred.fail(first, failure)
    if (!worked) return yield* failure
  }).pipe(
    Effect.scoped,
    Effect.tapError((failure) => Deferred.fail(first, failure))
  )

  yield* run.pipe(Effect.retry(Retry.growing("1 second", "30 seconds")), Effect.forever, Effect.forkScoped)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => failAll(new EngineFailed({ message: "the engine was shut down" })))
  )
  yield* Deferred.await(first)
  return {
    ask: (command, listener) => {
      if (current === undefined)
        return listener.onAnswer(new EngineFailed({ message: "the engine is being restarted" }))
      if ("id" in command) listeners.set(command.id, listener)
      current.postMessage(command)
    },
    send: (command) => {
      if (command._tag === "Cancel") listeners.delete(command.id)
      current?.postMessage(command)
    },
    nextId: () => ++ids,
    isUp: () => current !== undefined,
    isHeard: () => current !== undefined && performance.now() - heardAt < maxRunMillis,
    restarts: () => starts - 1
  }
})
