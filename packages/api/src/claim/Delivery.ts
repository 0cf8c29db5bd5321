/**
 * Acknowledges a batch once its reply is written, and requeues it if the connection broke before.
 *
 * The original's trainers do not acknowledge. A reply counts as delivered when all its bytes have been handed to the
 * operating system; a batch claimed for a client that disconnected goes to the next claimer.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Schedule } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import type { ClaimedBatch, TrajectoryStoreShape } from "../store/TrajectoryStore.ts"

/** Returns true if the whole reply of this request was written; resolves when it has ended. */
const isWritten = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<boolean> => {
  // Other servers (for example a web handler in a test) take the reply as a value, which cannot break.
  if (!(request.source instanceof IncomingMessage)) return Effect.succeed(true)
  return Effect.callback((resume) => {
    const response = NodeHttpServerRequest.toServerResponse(request)
    const settle = () => resume(Effect.succeed(response.writableFinished))
    if (response.closed || response.destroyed) return settle()
    response.once("close", settle)
    return Effect.sync(() => response.off("close", settle))
  })
}

const retried = { schedule: Schedule.exponential("50 millis"), times: 5 }

/** Settles the batch once the reply has ended, in parallel to the request. */
export const settle = (
  store: TrajectoryStoreShape,
  request: HttpServerRequest.HttpServerRequest,
  batch: ClaimedBatch
): Effect.Effect<void> =>
  isWritten(request).pipe(
    // The service stops before the outcome is known: the trainer may not have received it.
    Effect.onInterrupt(() => giveBack(store, batch)),
    Effect.flatMap((written) => (written ? acknowledge(store, batch) : giveBack(store, batch)))
  )

/** Requeues the batch if the connection broke before the reply was written; otherwise the trainer acknowledges it. */
export const giveBackUnlessWritten = (
  store: TrajectoryStoreShape,
  request: HttpServerRequest.HttpServerRequest,
  batch: ClaimedBatch
): Effect.Effect<void> =>
  Effect.flatMap(isWritten(request), (written) => (written ? Effect.void : giveBack(store, batch)))

const acknowledge = (store: TrajectoryStoreShape, batch: ClaimedBatch): Effect.Effect<void> =>
  store.ack(batch).pipe(
    Effect.retry({ ...retried, while: (error) => error._tag === "StoreError" && error.isTransient }),
    // After a reset, or if the lease expired while the trainer read slowly, nothing is left to settle.
    Effect.catchTag("LeaseLost", () => Effect.logDebug("batch settled by another client", { batch: batch.id })),
    Effect.catch((error) =>
      Effect.logWarning("batch not acknowledged; it will be redelivered when its lease expires", error)
    )
  )

export const giveBack = (store: TrajectoryStoreShape, batch: ClaimedBatch): Effect.Effect<void> =>
  Effect.logWarning("batch not delivered; it goes to the next claimer", { batch: batch.id, step: batch.step }).pipe(
    Effect.andThen(store.nack(batch)),
    Effect.retry({ ...retried, while: (error) => error._tag === "StoreError" && error.isTransient }),
    Effect.catchTag("LeaseLost", () => Effect.logDebug("batch settled by another client", { batch: batch.id })),
    Effect.catch((error) =>
      Effect.logWarning("batch not released; it will be redelivered when its lease expires", error)
    )
  )
