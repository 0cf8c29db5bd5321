/**
 * Checks that the database is usable: it answers, and its disk has space. For the embedded database the disk is
 * checked. For a server, a write that failed for lack of space makes the next check try a write that leaves nothing
 * behind.
 */
import { Deferred, Effect, Exit, Option, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../database/Database.ts"
import { StoreError, type TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import { fullDisk } from "../../database/PgliteThread.ts"
import * as Failure from "./Failure.ts"

export interface Readiness extends Pick<TrajectoryStoreShape, "ready"> {
  /** Fails while the disk of the embedded database is full; reads still work then. */
  readonly refuseWhenFull: Effect.Effect<void, StoreError>
  readonly wrote: (exit: Exit.Exit<unknown, StoreError>) => void
}

const timeout = "2 seconds"

const unavailable = (message: string) => new StoreError({ message, isTransient: true, cause: undefined })

export const make = Effect.gen(function* (): Effect.gen.Return<
  Readiness,
  never,
  SqlClient.SqlClient | Database | Scope.Scope
> {
  const sql = yield* SqlClient.SqlClient
  const { kind, location } = yield* Database
  const folder = kind === "pglite" && location !== "memory" ? location : undefined
  let full = Option.none<string>()
  let isWriteDue = false
  let pendingCheck: Deferred.Deferred<void, StoreError> | undefined

  const checkDisk = Effect.map(fullDisk(folder), (problem) => void (full = problem))
  if (folder !== undefined) {
    yield* Effect.forkScoped(Effect.repeat(checkDisk, Schedule.spaced("1 second")))
  }

  const refuseWhenFull = Effect.suspend(() =>
    Option.isSome(full) ? Effect.fail(unavailable(full.value)) : Effect.void
  )

  /** Large enough to allocate new pages. */
  const write = Failure.inTransaction(
    sql,
    sql`create temp table room on commit drop as select repeat('x', 1000) as filling from generate_series(1, 1000)`
  )

  const check = Effect.gen(function* () {
    yield* checkDisk
    yield* refuseWhenFull
    yield* sql`select 1`
    if (!isWriteDue) return
    yield* write
    isWriteDue = false
  }).pipe(Failure.orStoreError)

  /** Concurrent callers share one check, so that they do not pile up if the database hangs. */
  const ready = Effect.gen(function* () {
    const current = pendingCheck
    const pending = current ?? (yield* Deferred.make<void, StoreError>())
    if (current === undefined) {
      pendingCheck = pending
      yield* check.pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            pendingCheck = undefined
            Deferred.doneUnsafe(pending, exit)
          })
        ),
        Effect.exit,
        Effect.forkDetach({ startImmediately: true })
      )
    }
    yield* Deferred.await(pending).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable("no response from the database within two seconds"))
      })
    )
  })

  return {
    ready,
    refuseWhenFull,
    wrote: (exit) => {
      if (Exit.isSuccess(exit)) isWriteDue = false
      else if (exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.isTransient))
        isWriteDue = true
    }
  }
})
