/** Maps failures of the database to those of the store. */
import * as Reason from "@atropos/core/base/Reason"
import { Cause, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { StoreError } from "../../store/TrajectoryStore.ts"

export const text = (error: SqlError): string => {
  const { cause } = error.reason
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message
}

/** Transient SQLSTATE classes: connection, rollback due to others, out of disk or memory, operator intervention. */
const passing = new Set(["08", "40", "53", "57"])

const classOf = (error: SqlError): string => {
  const { cause } = error.reason
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code.slice(0, 2) : ""
}

/** A retry may succeed later. */
export const isTransient = (error: SqlError): boolean => error.isRetryable || passing.has(classOf(error))

/** An immediate retry may succeed; exhausted resources take longer. */
export const isWorthRepeating = (error: SqlError): boolean => isTransient(error) && classOf(error) !== "53"

export const storeError = (error: SqlError): StoreError =>
  new StoreError({
    message: `the database failed: ${Reason.isDiskFull(error) ? "the disk is full: " : ""}${text(error)}`,
    isTransient: isTransient(error),
    cause: error
  })

/** Maps SQL errors to `StoreError`; others are unchanged. */
export const orStoreError = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError> | StoreError, R> =>
  Effect.mapError(effect, (error) =>
    // Other errors are unchanged.
    isSqlError(error) ? storeError(error) : (error as Exclude<E, SqlError>)
  )

/**
 * A transaction whose rollback or commit may fail too if the connection is lost: that is an ordinary database failure.
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

/** Logs one line for transient failures, all details for others. */
export const warn =
  (message: string) =>
  (error: SqlError): Effect.Effect<void> =>
    Effect.logWarning(message, isTransient(error) ? { reason: text(error) } : { error })
