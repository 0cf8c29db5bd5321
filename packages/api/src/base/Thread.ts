/**
 * A thread for work that would hold up the event loop: started by the first task, ended with the scope, one task at a
 * time.
 *
 * The module it runs answers each message with one, a `Reply`. A task that takes more memory than a thread has fails
 * with `ThreadOutOfMemory`, one that kills the thread otherwise is a defect; the next one gets a new thread.
 */
import { Effect, Schema, type Scope, Semaphore } from "effect"
import { Worker } from "node:worker_threads"

/** The task took more memory than there is for it. */
export class ThreadOutOfMemory extends Schema.TaggedError<ThreadOutOfMemory>()("ThreadOutOfMemory", {
  limitBytes: Schema.Int
}) {}

/** Of a thread's heap; bytes of bodies lie outside of it. */
const heapMebibytes = 1024

const isOutOfMemory = (cause: Error): boolean => "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"

const start = (module: string, caller: string): Worker => {
  const source = new URL(`./${module}.${caller.endsWith(".ts") ? "ts" : "js"}`, caller)
  // A thread that runs sources must also resolve the other packages to sources. What else the process was started with
  // concerns the process: a thread refuses V8's flags.
  const started = new Worker(source, {
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    ...(source.pathname.endsWith(".ts") && { execArgv: ["--conditions=atropos-src"] })
  })
  started.unref()
  return started
}

/**
 * Asks the thread of a module beside the caller's (its `import.meta.url`). What is in `transfer` moves there without a
 * copy.
 */
export const make = Effect.fnUntraced(function* <Reply>(
  module: string,
  caller: string
): Effect.fn.Return<
  (task: unknown, transfer?: ReadonlyArray<ArrayBuffer>) => Effect.Effect<Reply, ThreadOutOfMemory>,
  never,
  Scope.Scope
> {
  const turn = yield* Semaphore.make(1)
  let worker: Worker | undefined
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      const running = worker
      return running === undefined ? Effect.void : Effect.promise(() => running.terminate())
    })
  )
  const ask = (task: unknown, transfer: ReadonlyArray<ArrayBuffer>): Effect.Effect<Reply, ThreadOutOfMemory> =>
    Effect.callback((resume) => {
      const thread = (worker ??= start(module, caller))
      // The module answers with nothing else.
      const onMessage = (reply: Reply) => {
        cleanUp()
        resume(Effect.succeed(reply))
      }
      const onError = (cause: Error) => {
        cleanUp()
        worker = undefined
        resume(
          isOutOfMemory(cause)
            ? Effect.fail(new ThreadOutOfMemory({ limitBytes: heapMebibytes * 1024 ** 2 }))
            : Effect.die(cause)
        )
      }
      const cleanUp = () => {
        thread.off("message", onMessage)
        thread.off("error", onError)
      }
      thread.on("message", onMessage)
      thread.on("error", onError)
      thread.postMessage(task, [...transfer])
    })
  return (task, transfer = []) =>
    ask(task, transfer).pipe(
      // An answer must go to the task it belongs to: once asked, it is waited for.
      Effect.uninterruptible,
      turn.withPermits(1)
    )
})
