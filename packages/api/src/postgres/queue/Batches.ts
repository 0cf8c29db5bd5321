/**
 * Forms batches when they are claimed, leases them, and hands them out again if a lease expired or they were requeued
 * (`Leases`), before new ones.
 *
 * A claim looks up the queue and the number of batches formed, then forms the batch if that number is unchanged,
 * otherwise starts over; a third statement fetches payloads that are not in memory. So steps are handed out in order
 * without gaps by all processes, and no claim waits while holding a lock.
 *
 * A claim does not wait for the disk. If Postgres or its machine fails before it (or any later write of the service) is
 * on disk, it is undone: its groups are queued as before, its lease is lost, its step is handed out again. An ack is on
 * disk when it is answered, together with its claim. The embedded database never syncs, and its unflushed log would be
 * in this process's memory: there a claim is handed to the operating system like every write, and survives the process.
 *
 * A group whose payload is missing from the object storage is dropped from its batch, logged and counted; a batch
 * without remaining groups is acknowledged here, and the next one goes out.
 */
import { Packing } from "@atropos/core"
import { Clock, Duration, Effect, Option, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import {
  type ClaimedBatch,
  type StoreError,
  type StoredGroup,
  type TrajectoryStoreShape,
  UnknownRun
} from "../../store/TrajectoryStore.ts"
import * as StoreFaults from "../../store/StoreFaults.ts"
import type { Database } from "../../database/Database.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import * as BatchStatements from "./BatchStatements.ts"
import type { Objects } from "../base/Objects.ts"
import type { Leases } from "./Leases.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunView, RunStateCache } from "../base/RunStateCache.ts"

export type Batches = Pick<TrajectoryStoreShape, "claim">

interface Leased extends BatchStatements.LeasedRow {
  /** In queue order. */
  readonly envelopes: ReadonlyArray<Rows.EnvelopeRow>
}

/** Returns true if a lookup could find a batch, according to a current view. */
const canClaim = ({ leases, queued, run }: RunView, now: number): boolean =>
  leases.some((until) => until === null || until <= now) ||
  queued.reduce((sum, { groups, sequences }) => sum + groups * sequences, 0) >= run.batchSize

const minimumShares = ({ environments }: RunView): Packing.MinimumShares =>
  new Map(
    environments.flatMap(({ connected, envId, minBatchAllocation }) =>
      connected && minBatchAllocation !== null && minBatchAllocation > 0 ? [[envId, minBatchAllocation] as const] : []
    )
  )

/** Payloads by group id; undefined for lost ones. */
const decodedOf = Effect.fnUntraced(function* (
  objects: Objects,
  run: string,
  rows: ReadonlyArray<Pick<Rows.GroupRow, "id" | "encoding" | "payload">>
) {
  return new Map(
    yield* Effect.forEach(
      rows,
      (row) =>
        objects.bring(row).pipe(
          Effect.flatMap(({ encoding, payload }) => Codec.decode({ encoding, bytes: payload })),
          Effect.map((payload) => [row.id, payload] as const),
          Effect.catchIf(
            (error): error is StoreError => error._tag === "StoreError" && error.isLost === true,
            (error) => Effect.as(StoreFaults.lost(run, String(row.id), error), [row.id, undefined] as const)
          )
        ),
      { concurrency: "unbounded" }
    )
  )
})

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications,
  cache: PayloadCache,
  leases: Pick<Leases, "ack" | "nack">,
  clock: StoreClock,
  objects: Objects,
  /** Records that a trainer requested a batch of the run. */
  noteTrainer: (runId: number, at: number) => void
): Effect.fn.Return<Batches, never, SqlClient.SqlClient | Database> {
  const statements = yield* BatchStatements.make
  // Claims wait for each other here rather than while holding a connection.
  const locks = new Map<string, Semaphore.Semaphore>()

  const lockOf = (run: string): Semaphore.Semaphore => {
    const existing = locks.get(run)
    if (existing !== undefined) return existing
    const lock = Semaphore.makeUnsafe(1)
    locks.set(run, lock)
    return lock
  }

  /** A requeued batch, or a new one; undefined if there is neither. */
  const lease = Effect.fnUntraced(function* (
    view: RunView,
    owner: string,
    now: Date,
    until: Date
  ): Effect.fn.Return<Leased | undefined, SqlError> {
    const runId = view.run.id
    const minimums = minimumShares(view)
    for (;;) {
      const [run] = yield* statements.look(runId, now)
      if (run === undefined) return undefined
      const [returned] = run.has_free ? yield* statements.redeliver(runId, owner, now, until) : []
      if (returned !== undefined) {
        return { ...returned, envelopes: yield* statements.envelopes(returned.id) }
      }
      const { env_ids, ids, sequences } = run
      if (ids === null || env_ids === null || sequences === null) return undefined
      const positions = Packing.fill(
        sequences.map((size, i) => ({ size, envId: Rows.fromEnvColumn(env_ids[i]!) })),
        run.batch_size,
        minimums
      )
      if (positions === undefined) return undefined
      const selected = Rows.array(
        "int8",
        positions.map((i) => ids[i]!)
      )
      const envelopes = yield* statements.form(runId, run, selected, owner, now, until)
      const [first] = envelopes
      if (first === undefined) continue
      return { id: first.batch, step: first.step, lease_token: first.lease_token, deliveries: 1, envelopes }
    }
  })

  /** The groups of a batch with their payloads, from memory if cached; without lost ones. */
  const groupsOf = Effect.fnUntraced(function* (
    run: string,
    envelopes: ReadonlyArray<Rows.EnvelopeRow>
  ): Effect.fn.Return<ReadonlyArray<StoredGroup>, SqlError | StoreError> {
    const cached = envelopes.map(({ id }) => cache.get(String(id)))
    const missing = envelopes.filter((_, i) => cached[i] === undefined).map(({ id }) => id)
    const rows = missing.length === 0 ? [] : yield* statements.payloads(missing)
    const decoded = yield* decodedOf(objects, run, rows)
    return envelopes.flatMap((row, i): ReadonlyArray<StoredGroup> => {
      const envelope = Rows.toEnvelope(row)
      // No longer needed here; if the batch is requeued, the payload is read from the database.
      cache.remove(envelope.id)
      const payload = cached[i] ?? decoded.get(row.id)
      return payload === undefined ? [] : [{ ...envelope, payload }]
    })
  })

  const claim: Batches["claim"] = Effect.fn("PgTrajectoryStore.claim")(function* (
    name,
    options
  ): Effect.fn.Return<Option.Option<ClaimedBatch>, SqlError | StoreError | UnknownRun> {
    const leased = yield* lockOf(name).withPermits(1)(
      Effect.gen(function* () {
        const { isCurrent, view } = yield* runStates.recent(name)
        if (view === undefined || !view.run.registered) return yield* new UnknownRun({ run: name })
        noteTrainer(view.run.id, yield* Clock.currentTimeMillis)
        const millis = yield* clock.now
        if (isCurrent && !canClaim(view, millis)) return undefined
        const now = new Date(millis)
        const until = new Date(millis + Duration.toMillis(options.lease))
        const row = yield* lease(view, options.owner, now, until)
        if (row === undefined) return undefined
        notifications.counted(name)
        return { row, until }
      })
    )
    if (leased === undefined) return Option.none<ClaimedBatch>()
    const { row, until } = leased
    const batch = { id: String(row.id), leaseToken: row.lease_token }
    // A claimer interrupted before it has the groups must not make others wait for the lease to expire.
    const groups = yield* groupsOf(name, row.envelopes).pipe(Effect.onError(() => Effect.ignore(leases.nack(batch))))
    if (groups.length === 0 && row.envelopes.length > 0) {
      yield* Effect.logError("batch dropped: all its payloads are lost", { run: name, step: Rows.toInt(row.step) })
      // If another claimer has it by now, that one finds the same.
      yield* Effect.catchTag(leases.ack(batch), "LeaseLost", () => Effect.void)
      return yield* claim(name, options)
    }
    return Option.some<ClaimedBatch>({
      ...batch,
      step: Rows.toInt(row.step),
      leaseUntil: until.getTime(),
      deliveries: row.deliveries,
      groups
    })
  }, Failure.orStoreError)

  return { claim }
})
