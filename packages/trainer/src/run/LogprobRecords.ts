/**
 * Sends the trainer's logprobs of each step to the service, for the viewer. Never delays or fails training: records
 * that cannot be sent in time are dropped.
 */
import { type Batch, type PackedLogprobs, TelemetryClient } from "@atropos/core"
import { type Cause, Effect, Fiber, Option, Queue, type Scope } from "effect"

interface Entry {
  readonly batch: Pick<Batch.Batch, "id">
  readonly record: PackedLogprobs.RecordedLogprobs
}

/** Max steps in the queue; beyond it the oldest are dropped. */
const maxWaiting = 4

/** Time limit for the last ones when the scope closes. */
const patience = "5 seconds"

/**
 * Returns a function that queues a step's record without waiting; records are sent in the background until the scope
 * closes.
 */
export const make = Effect.fn("LogprobRecords.make")(function* (): Effect.fn.Return<
  (batch: Entry["batch"], record: Entry["record"]) => Effect.Effect<void>,
  never,
  TelemetryClient.TelemetryClient | Scope.Scope
> {
  const client = yield* TelemetryClient.TelemetryClient
  const waiting = yield* Queue.sliding<Entry, Cause.Done>(maxWaiting)
  let isTaken = true

  const send = ({ batch, record }: Entry) =>
    Effect.gen(function* () {
      const telemetry = yield* client.telemetry
      if (Option.isNone(telemetry)) return void (isTaken = false)
      yield* telemetry.value.recordLogprobs(batch.id, record)
    }).pipe(
      Effect.catch(({ isPassing, message, reason }) => {
        // Older services lack this endpoint. A lost lease concerns only its batch.
        if (!isPassing && reason !== "leaseLost") isTaken = false
        return Effect.logDebug("logprobs of a step not recorded", { batch: batch.id, reason, message })
      })
    )
  const sending = yield* Effect.forkScoped(
    Queue.take(waiting).pipe(
      Effect.flatMap(send),
      Effect.forever,
      Effect.catchTag("Done", () => Effect.void)
    )
  )
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Queue.end(waiting), Effect.timeoutOption(Fiber.await(sending), patience))
  )
  return (batch, record) =>
    Effect.suspend(() => (isTaken && record.rows.length > 0 ? Queue.offer(waiting, { batch, record }) : Effect.void))
})
