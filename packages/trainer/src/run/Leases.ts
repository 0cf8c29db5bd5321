/**
 * Keeps a trainer's leases on batches of the trajectory service.
 *
 * Renews every held lease at a third of its duration, until it is settled (retrying the acknowledgement with each
 * renewal) or released, at the latest when the scope closes. On start, leases of a killed predecessor in the journal
 * are released, or acknowledged if its checkpoint contains their batch.
 */
import { type TrainerClient, TrajectoryError } from "@atropos/core"
import { Duration, Effect, type FileSystem, Option, type Path, Schedule, type Scope } from "effect"
import * as LeaseJournal from "../checkpoint/LeaseJournal.ts"
import { TrainerError } from "../learn/TrainerError.ts"

export type Lease = LeaseJournal.Lease

export interface Options {
  readonly client: Pick<TrainerClient.TrainerClientShape, "ack" | "extend" | "nack">
  readonly leaseSeconds: number
  readonly folder: string
  /** True if a checkpoint contains this batch: a predecessor's lease on it is then acknowledged. */
  readonly isSettled: (batch: Pick<Lease, "id" | "step">) => boolean
}

export interface Leases {
  /** Starts renewing the lease of a batch that was just claimed. */
  readonly hold: (batch: Lease) => Effect.Effect<void>
  /** Marks batches as done. Never fails: acknowledgements that cannot be sent are retried later. */
  readonly settle: (batches: ReadonlyArray<Lease>) => Effect.Effect<void>
  readonly giveBack: (batch: Lease) => Effect.Effect<void>
}

const aboutBatch = ({ id, step }: Lease) => ({ batch: id, step })

export const make = Effect.fn("Leases.make")(function* (
  options: Options
): Effect.fn.Return<Leases, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { client, folder } = options
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const time = Duration.seconds(options.leaseSeconds)
  /** Leases by batch id: held, not settled. */
  const held = new Map<string, Lease>()
  /** Leases by batch id: settled, but not yet acknowledged. */
  const unacknowledged = new Map<string, Lease>()

  const previous = yield* Effect.mapError(
    LeaseJournal.read(folder),
    (cause) => new TrainerError({ reason: "checkpoint", message: cause.message, cause })
  )
  const firstStep = Option.match(previous, { onNone: () => null, onSome: (journal) => journal.firstStep })
  const writeJournal = Effect.suspend(() =>
    LeaseJournal.write(folder, {
      firstStep,
      // The original service has no leases.
      leases: [...held.values(), ...unacknowledged.values()].filter(({ leaseToken }) => leaseToken !== "")
    })
  ).pipe(
    Effect.catch(({ message }) => Effect.logWarning("lease journal could not be written", { message })),
    Effect.provide(files)
  )

  const release = (batch: Lease) =>
    client.nack(batch).pipe(
      Effect.retry(TrajectoryError.reconnecting),
      Effect.catch(({ message, reason }) =>
        reason === "leaseLost"
          ? Effect.void
          : Effect.logWarning("batch could not be released", { ...aboutBatch(batch), message })
      )
    )

  /** Acknowledges a settled batch; keeps it for a retry if the service is unavailable. */
  const acknowledge = (batch: Lease) =>
    client.ack(batch).pipe(
      Effect.andThen(Effect.sync(() => void unacknowledged.delete(batch.id))),
      Effect.catch(({ isPassing, message }) =>
        isPassing
          ? Effect.logDebug("acknowledgement postponed", { batch: batch.id, message })
          : Effect.suspend(() => {
              unacknowledged.delete(batch.id)
              // If it is redelivered, the checkpoint identifies it.
              return Effect.logWarning("batch could not be acknowledged", { ...aboutBatch(batch), message })
            })
      )
    )
  const acknowledgeAll = Effect.suspend(() =>
    Effect.forEach([...unacknowledged.values()], acknowledge, { discard: true })
  )

  const extend = (batch: Lease) =>
    client.extend(batch, time).pipe(
      Effect.catch(({ message, reason }) => {
        if (reason === "leaseLost" && held.get(batch.id)?.leaseToken === batch.leaseToken) held.delete(batch.id)
        return Effect.logWarning("lease could not be renewed", { ...aboutBatch(batch), reason, message })
      })
    )
  const renewal = Effect.suspend(() =>
    Effect.andThen(acknowledgeAll, Effect.forEach([...held.values()], extend, { discard: true, concurrency: 4 }))
  ).pipe(Effect.repeat(Schedule.spaced(Duration.divideUnsafe(time, 3))))

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Effect.timeoutOption(acknowledgeAll, "5 seconds")
      yield* Effect.forEach([...held.values()], release, { discard: true, concurrency: 4 }).pipe(
        Effect.timeoutOption("5 seconds")
      )
      // Released batches need no successor; the successor acknowledges the unacknowledged ones.
      held.clear()
      yield* writeJournal
    })
  )
  yield* Effect.forkScoped(renewal)
  // Leases of a predecessor that died.
  for (const lease of Option.match(previous, { onNone: () => [], onSome: ({ leases }) => leases })) {
    if (options.isSettled(lease)) unacknowledged.set(lease.id, lease)
    else yield* release(lease)
  }
  yield* acknowledgeAll
  yield* writeJournal

  return {
    hold: ({ id, leaseToken, step }) =>
      Effect.suspend(() => {
        held.set(id, { id, leaseToken, step })
        return writeJournal
      }),
    settle: (batches) =>
      Effect.suspend(() => {
        for (const batch of batches) {
          // A batch that was redelivered in the meantime has a new token.
          unacknowledged.set(batch.id, held.get(batch.id) ?? batch)
          held.delete(batch.id)
        }
        return Effect.andThen(acknowledgeAll, writeJournal)
      }),
    giveBack: (batch) =>
      Effect.suspend(() => {
        held.delete(batch.id)
        return release(batch)
      })
  }
})
