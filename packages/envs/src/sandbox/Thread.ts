/**
 * Runs a worker thread as a scoped resource with a queue of its messages; it is terminated when the scope closes,
 * regardless of what it is doing.
 */
import type { WorkerOptions } from "node:worker_threads"
import { Cause, Effect, Queue, type Scope } from "effect"
import { fileBeside, spawn } from "@atropos/core/base/Thread"
import { SandboxError } from "./Interpreter.ts"

export interface ThreadGone {
  readonly _tag: "ThreadGone"
  readonly outOfMemory: boolean
  readonly why: string
}

export interface Thread<In, Out> {
  readonly post: (message: In, transfer?: WorkerOptions["transferList"]) => void
  readonly next: Effect.Effect<Out, ThreadGone>
}

/** Starts the thread of a file next to this one. */
export const start = <In, Out>(
  name: string,
  options: WorkerOptions
): Effect.Effect<Thread<In, Out>, SandboxError, Scope.Scope> =>
  Effect.gen(function* () {
    const url = fileBeside(import.meta.url, name)
    const messages = yield* Queue.unbounded<Out, ThreadGone>()
    const worker = yield* Effect.acquireRelease(
      Effect.try({
        try: () => spawn(url, options),
        catch: (cause) => new SandboxError({ message: `cannot start a thread from ${url.href}`, cause })
      }),
      (started) => Effect.promise(() => started.terminate())
    )
    const gone = (why: string, outOfMemory = false) =>
      Queue.failCauseUnsafe(messages, Cause.fail({ _tag: "ThreadGone", why, outOfMemory }))
    worker
      .on("message", (message: Out) => Queue.offerUnsafe(messages, message))
      .on("error", (error: Error & { readonly code?: string }) =>
        gone(error.message, error.code === "ERR_WORKER_OUT_OF_MEMORY")
      )
      .on("exit", (code) => gone(`exited with code ${code}`))
    return {
      // A worker thread, not a window, has no origin.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      post: (message, transfer) => worker.postMessage(message, transfer),
      next: Queue.take(messages)
    }
  })
