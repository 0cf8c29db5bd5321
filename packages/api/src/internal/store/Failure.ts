/** Failures of the database as the store reports them. */
import { Effect } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { StoreError } from "../../TrajectoryStore.ts"

const text = (error: SqlError): string => {
  const { cause } = error.reason
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message
}

export const storeError = (error: SqlError): StoreError =>
  new StoreError({
    message: `the database failed: ${text(error)}`,
    isTransient: error.isRetryable,
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
