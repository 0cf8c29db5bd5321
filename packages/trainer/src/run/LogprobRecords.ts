/**
 * The trainer's logprobs of each step on their way to the service, where people look at them. Training never waits for
 * it and never fails by it: what cannot be sent, or comes faster than it is taken, is left out.
 */
import { type Batch, type PackedLogprobs, TelemetryClient } from "@atropos/core"
import { type Cause, Effect, Fiber, Option, Queue, type Scope } from "effect"

/** A batch, and what was computed of it. */
interface Entry {
  readonly batch: Pick<Batch.Batch, "id">
  readonly record: PackedLogprobs.RecordedLogprobs
}

/** Steps that wait to be sent; of more the oldest are left out. */
const mostWaiting = 4

/** How long the last ones may take at the end. */
const patience = "5 seconds"

/** Takes the records of steps, at once, and sends them in the background until the scope closes. */
export const make = Effect.fn("LogprobRecords.make")(function* (): Effect.fn.Return<
  (batch: Entry["batch"], record: Entry["record"]) => Effect.Effect<void>,
  never,
  TelemetryClient.TelemetryClient | Scope.Scope
> {
  const client = yield* TelemetryClient.TelemetryClient
  const waiting = yield* Queue.sliding<Entry, Cause.Done>(mostWaiting)
  let isTaken = true

  const send = ({ batch, record }: Entry) =>
    Effect.gen(function* () {
      const telemetry = yield* client.telemetry
      if (Option.isNone(telemetry)) return void (isTaken = false)
      yield* telemetry.value.recordLogprobs(batch.id, record)
    }).pipe(
      Effect.catch(({ isPassing, message, reason }) => {
        // A service of an earlier version has no such endpoint; a batch that another trainer has says nothing of it.
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
