/**
 * Runs tasks that would block the event loop in a thread, one at a time: started by the first task, ended with the
 * scope. The thread's module answers each message with one `Reply`. A task that exceeds the thread's memory fails with
 * `ThreadOutOfMemory`; one that ends the thread otherwise is a defect. The next task gets a new thread.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Effect, Exit, Schema, Scope, Semaphore } from "effect"

export class ThreadOutOfMemory extends Schema.TaggedError<ThreadOutOfMemory>()("ThreadOutOfMemory", {
  limitBytes: Schema.Int
}) {}

/** Heap of the thread; bytes of bodies are outside of it. */
const heapMebibytes = 1024

/**
 * Creates a function that sends tasks to the thread of a module next to the caller's (its `import.meta.url`). Buffers
 * in `transfer` are moved without copying.
 */
export const make = Effect.fnUntraced(function* <Reply>(
  module: string,
  caller: string
): Effect.fn.Return<
  (task: unknown, transfer?: ReadonlyArray<ArrayBuffer>) => Effect.Effect<Reply, ThreadOutOfMemory>,
  never,
  Scope.Scope
> {
  // Forked now, so that a thread started later still outlives its callers.
  const threads = yield* Scope.fork(yield* Effect.scope)
  const lock = yield* Semaphore.make(1)
  const file = Thread.fileBeside(caller, module)
  let running: { readonly thread: Thread.Thread<unknown, Reply>; readonly end: Effect.Effect<void> } | undefined
  const start = Effect.gen(function* () {
    const threadScope = yield* Scope.fork(threads)
    const thread = yield* Thread.start<unknown, Reply>(file, {
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes }
    }).pipe(Scope.provide(threadScope))
    thread.keepsProcess(false)
    return (running = { thread, end: Scope.close(threadScope, Exit.void) })
  })
  return (task, transfer) =>
    Effect.suspend(() => (running === undefined ? start : Effect.succeed(running))).pipe(
      Effect.flatMap(({ end, thread }) => Effect.tapError(thread.ask(task, transfer), () => end)),
      Effect.catch((error) => {
        running = undefined
        return error.reason === "outOfMemory"
          ? Effect.fail(new ThreadOutOfMemory({ limitBytes: heapMebibytes * 1024 ** 2 }))
          : Effect.die(error.cause ?? error)
      }),
      // Uninterruptible, so that an answer is never taken for that of a later task.
      Effect.uninterruptible,
      lock.withPermits(1)
    )
})
