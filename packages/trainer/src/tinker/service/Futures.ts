/**
 * Holds results by request id until they are retrieved, and for some time afterwards, in case a response is lost; the
 * oldest are dropped earlier if memory is short. Dropped and unknown results are gone (410).
 */
import { Clock, Deferred, Effect, Exit, Fiber, type Scope } from "effect"
import { gone, OperationFailed, type Refused } from "./Failures.ts"

/** Result of an operation, in the formats it can be requested in. */
export interface Outcome {
  /** If the client accepts binary. */
  readonly binary?: Uint8Array
  readonly json: () => unknown
}

export type Retrieved =
  | { readonly state: "done"; readonly outcome: Outcome }
  | { readonly state: "failed"; readonly error: OperationFailed }
  | { readonly state: "pending" }

export interface Futures {
  /**
   * Creates a future for the result of `run`, which continues if the client disconnects. The same id is the same
   * future.
   */
  readonly promise: (id: string, owner: string, run: Effect.Effect<Outcome, OperationFailed>) => Effect.Effect<void>
  readonly has: (id: string) => boolean
  /** The result, if it arrives within a long poll. */
  readonly retrieve: (id: string) => Effect.Effect<Retrieved, Refused>
  /** Stops an operation; its result is then a cancellation error. */
  readonly cancel: (id: string) => Effect.Effect<void>
  /** Drops all futures of an owner, and stops running ones. */
  readonly forget: (owner: string) => Effect.Effect<void>
}

interface Future {
  readonly owner: string
  readonly result: Deferred.Deferred<Outcome, OperationFailed>
  fiber: Fiber.Fiber<void> | undefined
  doneAt: number | undefined
  bytes: number
}

/** Clients wait 45 seconds for a response. */
const longPoll = "25 seconds"

const cancelled = new OperationFailed({ category: "user", message: "the operation was cancelled" })
const interrupted = new OperationFailed({ category: "server", message: "the operation was interrupted" })

/** Max number of results, of any size. */
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
  /** In order of creation. */
  const futures = new Map<string, Future>()
  let bytes = 0

  const drop = (id: string, future: Future) => {
    futures.delete(id)
    bytes -= future.bytes
  }

  /** Drops old results, and the oldest if there are too many. */
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
          return yield* gone(`no result for ${id}: it expired, or the server was restarted`)
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

/** Logs a defect and turns it into a server failure, so that the server continues. */
const sound = (run: Effect.Effect<Outcome, OperationFailed>): Effect.Effect<Outcome, OperationFailed> =>
  Effect.catchDefect(run, (defect) =>
    Effect.andThen(
      Effect.logError("internal error in an operation", defect),
      Effect.fail(
        new OperationFailed({ category: "server", message: "internal error; see the server's log", cause: defect })
      )
    )
  )
