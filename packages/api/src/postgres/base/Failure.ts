/** Failures of the database as the store reports them. */
import * as Reason from "@atropos/core/base/Reason"
import { Cause, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { StoreError } from "../../store/TrajectoryStore.ts"

export const text = (error: SqlError): string => {
  const { cause } = error.reason
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message
}

/** Classes of SQLSTATE that pass: connection, rolled back for others, no room or memory, an operator's doing. */
const passing = new Set(["08", "40", "53", "57"])

const classOf = (error: SqlError): string => {
  const { cause } = error.reason
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code.slice(0, 2) : ""
}

/** The same may work a while later. */
export const isTransient = (error: SqlError): boolean => error.isRetryable || passing.has(classOf(error))

/** The same may work at once: what is full or exhausted takes longer. */
export const isWorthRepeating = (error: SqlError): boolean => isTransient(error) && classOf(error) !== "53"

export const storeError = (error: SqlError): StoreError =>
  new StoreError({
    message: `the database failed: ${Reason.isDiskFull(error) ? "the disk is full: " : ""}${text(error)}`,
    isTransient: isTransient(error),
    cause: error
  })

/** Turns failures of the database into `StoreError`; others pass. */
export const orStoreError = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError> | StoreError, R> =>
  Effect.mapError(effect, (error) =>
    // What is no SqlError stays as it is.
    isSqlError(error) ? storeError(error) : (error as Exclude<E, SqlError>)
  )

/**
 * A transaction whose rollback or commit may fail too, when the connection is gone: that is a failure of the database
 * as any other.
 */
export const inTransaction = <A, E, R>(
  sql: SqlClient.SqlClient,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.catchCause(sql.withTransaction(effect), (cause) => {
    const broken = cause.reasons.flatMap((reason) =>
      Cause.isDieReason(reason) && isSqlError(reason.defect) ? [reason.defect] : []
    )
    return broken[0] === undefined ? Effect.failCause(cause) : Effect.fail(broken[0])
  })

/** One line for what passes, all there is to know for what should not be. */
export const warn =
  (message: string) =>
  (error: SqlError): Effect.Effect<void> =>
    Effect.logWarning(message, isTransient(error) ? { reason: text(error) } : { error })
