/**
 * A thread for work that would hold up the event loop: started by the first task, ended with the scope, one task at a
 * time.
 *
 * The module it runs answers each message with one, a `Reply`. A task that takes more memory than a thread has fails
 * with `ThreadOutOfMemory`, one that kills the thread otherwise is a defect; the next one gets a new thread.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Effect, Exit, Schema, Scope, Semaphore } from "effect"

/** The task took more memory than there is for it. */
export class ThreadOutOfMemory extends Schema.TaggedError<ThreadOutOfMemory>()("ThreadOutOfMemory", {
  limitBytes: Schema.Int
}) {}

/** Of a thread's heap; bytes of bodies lie outside of it. */
const heapMebibytes = 1024

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
  // Forked now: a thread that is started later still ends after those who ask it.
  const threads = yield* Scope.fork(yield* Effect.scope)
  const turn = yield* Semaphore.make(1)
  const file = Thread.fileBeside(caller, module)
  let running: { readonly thread: Thread.Thread<unknown, Reply>; readonly end: Effect.Effect<void> } | undefined
  const start = Effect.gen(function* () {
    const own = yield* Scope.fork(threads)
    const thread = yield* Thread.start<unknown, Reply>(file, {
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes }
    }).pipe(Scope.provide(own))
    thread.keepsProcess(false)
    return (running = { thread, end: Scope.close(own, Exit.void) })
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
      // An answer must go to the task it belongs to: once asked, it is waited for.
      Effect.uninterruptible,
      turn.withPermits(1)
    )
})
