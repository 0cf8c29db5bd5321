/**
 * A thread for work that would hold up the event loop: started by the first task, ended with the scope, one task at a time.
 *
 * The module it runs answers each message with one, a `Reply`. A task that kills the thread is a defect; the next one gets a new thread.
 */
import { Effect, type Scope, Semaphore } from "effect"
import { Worker } from "node:worker_threads"

const start = (module: string): Worker => {
  const source = new URL(`./${module}.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)
  // A thread that runs sources must also resolve the other packages to sources. What else the process was started with concerns
  // the process: a thread refuses V8's flags.
  const started = new Worker(source, source.pathname.endsWith(".ts") ? { execArgv: ["--conditions=atropos-src"] } : {})
  started.unref()
  return started
}

/** Asks the thread of a module beside this one. What is in `transfer` moves there without a copy. */
export const make = Effect.fnUntraced(function* <Reply>(
  module: string
): Effect.fn.Return<
  (task: unknown, transfer?: ReadonlyArray<ArrayBuffer>) => Effect.Effect<Reply>,
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
  const ask = (task: unknown, transfer: ReadonlyArray<ArrayBuffer>): Effect.Effect<Reply> =>
    Effect.callback((resume) => {
      const thread = (worker ??= start(module))
      // The module answers with nothing else.
      const onMessage = (reply: Reply) => {
        cleanUp()
        resume(Effect.succeed(reply))
      }
      const onError = (cause: Error) => {
        cleanUp()
        worker = undefined
        resume(Effect.die(cause))
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
