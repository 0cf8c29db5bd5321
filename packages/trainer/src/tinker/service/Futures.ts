/**
 * Results by the id of their request, until they are asked for.
 *
 * A result is kept for some time after it came, so that an answer that got lost can be asked for again; the oldest ones
 * go sooner where all of them together take too much memory. What is asked for later, or was never promised here, is
 * gone (410).
 */
import { Clock, Deferred, Effect, Exit, Fiber, type Scope } from "effect"
import { gone, OperationFailed, type Refused } from "./Failures.ts"

/** What an operation comes to, in the forms it can be asked for in. */
export interface Outcome {
  /** Where the client asks for binary. */
  readonly binary?: Uint8Array
  readonly json: () => unknown
}

export type Retrieved =
  | { readonly state: "done"; readonly outcome: Outcome }
  | { readonly state: "failed"; readonly error: OperationFailed }
  | { readonly state: "pending" }

export interface Futures {
  /**
   * Promises the result of `run`, which goes on whatever becomes of who asked. The same id again is the same future.
   */
  readonly promise: (id: string, owner: string, run: Effect.Effect<Outcome, OperationFailed>) => Effect.Effect<void>
  readonly has: (id: string) => boolean
  /** The result, if it comes within a long poll. */
  readonly retrieve: (id: string) => Effect.Effect<Retrieved, Refused>
  /** Stops an operation; its result is that it was cancelled. */
  readonly cancel: (id: string) => Effect.Effect<void>
  /** Forgets all of an owner's, and stops what is running. */
  readonly forget: (owner: string) => Effect.Effect<void>
}

interface Future {
  readonly owner: string
  readonly result: Deferred.Deferred<Outcome, OperationFailed>
  fiber: Fiber.Fiber<void> | undefined
  /** When the result came. */
  doneAt: number | undefined
  bytes: number
}

/** Clients wait 45 seconds for an answer. */
const longPoll = "25 seconds"

const cancelled = new OperationFailed({ category: "user", message: "the operation was cancelled" })
const interrupted = new OperationFailed({ category: "server", message: "the operation was interrupted" })

/** Results, however small. */
const maxKept = 65_536

export interface Settings {
  readonly keptMillis: number
  readonly keptBytes: number
}

export const make = Effect.fnUntraced(function* ({
  keptBytes,
  keptMillis
}: Settings): Effect.fn.Return<Futures, never, Scope.Scope> {
  const scope = yield* Effect.scope
  /** In the order they were promised. */
  const futures = new Map<string, Future>()
  let bytes = 0

  const drop = (id: string, future: Future) => {
    futures.delete(id)
    bytes -= future.bytes
  }

  /** Lets go of what is old, or too much. */
  const sweep = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [id, future] of futures) {
      if (future.doneAt === undefined) continue
      if (now - future.doneAt > keptMillis || bytes > keptBytes || futures.size > maxKept) drop(id, future)
    }
  })

  const settle = Effect.fnUntraced(function* (future: Future, exit: Exit.Exit<Outcome, OperationFailed>) {
    future.doneAt = yield* Clock.currentTimeMillis
    if (Exit.isSuccess(exit)) {
      future.bytes = exit.value.binary?.byteLength ?? 0
      bytes += future.bytes
      yield* Deferred.succeed(future.result, exit.value)
    } else if (Exit.hasInterrupts(exit)) yield* Deferred.fail(future.result, interrupted)
    else yield* Deferred.done(future.result, exit)
    yield* sweep
  })

  return {
    promise: (id, owner, run) =>
      Effect.gen(function* () {
        if (futures.has(id)) return
        const future: Future = {
          owner,
          result: Deferred.makeUnsafe<Outcome, OperationFailed>(),
          fiber: undefined,
          doneAt: undefined,
          bytes: 0
        }
        futures.set(id, future)
        future.fiber = yield* sound(run).pipe(
          Effect.onExit((exit) => settle(future, exit)),
          Effect.ignore,
          Effect.forkIn(scope)
        )
      }),
    has: (id) => futures.has(id),
    retrieve: (id) =>
      Effect.gen(function* () {
        yield* sweep
        const future = futures.get(id)
        if (future === undefined) {
          return yield* gone(`there is no result of ${id} here: it is too long ago, or the server was started since`)
        }
        return yield* Deferred.await(future.result).pipe(
          Effect.map((outcome): Retrieved => ({ state: "done", outcome })),
          Effect.catch((error) => Effect.succeed<Retrieved>({ state: "failed", error })),
          Effect.timeoutOrElse({ duration: longPoll, orElse: () => Effect.succeed<Retrieved>({ state: "pending" }) })
        )
      }),
    cancel: (id) =>
      Effect.suspend(() => {
        const future = futures.get(id)
        if (future?.fiber === undefined || future.doneAt !== undefined) return Effect.void
        return Effect.andThen(Deferred.fail(future.result, cancelled), Fiber.interrupt(future.fiber))
      }),
    forget: (owner) =>
      Effect.gen(function* () {
        for (const [id, future] of futures) {
          if (future.owner !== owner) continue
          drop(id, future)
          if (future.fiber !== undefined) yield* Fiber.interrupt(future.fiber)
        }
      })
  }
})

/** A defect is the server's failure, and is logged; the server goes on. */
const sound = (run: Effect.Effect<Outcome, OperationFailed>): Effect.Effect<Outcome, OperationFailed> =>
  Effect.catchDefect(run, (defect) =>
    Effect.andThen(
      Effect.logError("internal error in an operation", defect),
      Effect.fail(
        new OperationFailed({ category: "server", message: "internal error; see the server's log", cause: defect })
      )
    )
  )
