/**
 * Work beside the hot path, now and then and in small portions: releases what waited in a buffer too long, wakes
 * claimers when a lease has run out, drops the oldest consumed groups beyond the bound, and removes what a reset left
 * behind.
 *
 * Several processes may do it at once: every step is one statement, and rows that another one works on are skipped.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Database } from "../../database/Database.ts"
import type { Changes } from "../base/Changes.ts"
import * as Failure from "../base/Failure.ts"
import type { LastSeen } from "./LastSeen.ts"
import type { Settings } from "../base/Settings.ts"
import type { StoreClock } from "../base/StoreClock.ts"

// Rows with large payloads: few at a time, and others in between, so that nobody waits long.
const portion = 64
const batchesAtOnce = 4
const breather: Duration.Input = "20 millis"

const before = (now: number, duration: Duration.Input) => new Date(now - Duration.toMillis(duration))

const every = (duration: Duration.Input, work: (now: number) => Effect.Effect<void, SqlError>) =>
  Effect.suspend(() => {
    // An outage is told once.
    let hasFailed = false
    return Clock.currentTimeMillis.pipe(
      Effect.flatMap(work),
      Effect.matchEffect({
        onSuccess: () => Effect.sync(() => void (hasFailed = false)),
        onFailure: (error) => {
          const tell = hasFailed ? Effect.void : Failure.warn("upkeep of the database failed")(error)
          hasFailed = true
          return tell
        }
      }),
      Effect.repeat(Schedule.spaced(duration)),
      Effect.forkScoped
    )
  })

export const make = Effect.fnUntraced(function* (
  settings: Settings,
  changes: Changes,
  lastSeen: LastSeen,
  clock: StoreClock
): Effect.fn.Return<void, never, SqlClient.SqlClient | Database | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  let lastTick: number | undefined
  let droppedSinceVacuum = 0
  let textsSinceVacuum = 0

  const releaseBuffered = Effect.fnUntraced(function* (now: number) {
    const released = yield* sql<{ name: string }>`
      with late as (
        select grp.id from grp join run on run.id = grp.run_id
        where grp.place is null and run.ended_at is null and grp.created_at <= ${before(now, settings.bufferPatience)}
        order by grp.id for update of grp skip locked
      ), placed as (
        update grp set place = nextval('grp_order') from late where grp.id = late.id
        returning grp.run_id, grp.env_id, grp.sequences, octet_length(grp.payload) as bytes
      ), counted as (
        insert into queued (run_id, env_id, sequences, groups, bytes)
        select run_id, env_id, sequences, count(*), sum(bytes) from placed
        group by run_id, env_id, sequences order by run_id, env_id, sequences
        on conflict (run_id, env_id, sequences)
        do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes
      )
      select distinct name from run join placed on placed.run_id = run.id`
    for (const { name } of released) {
      yield* Effect.logInfo("odd-sized groups queued as they are", { run: name })
      changes.changed(name)
    }
  })

  const wakeClaimers = Effect.gen(function* () {
    const now = yield* clock.now
    const expired = yield* sql<{ name: string }>`
      select distinct name from run join batch on batch.run_id = run.id
      where acked_at is null and lease_until > ${new Date(lastTick ?? now)} and lease_until <= ${new Date(now)}`
    lastTick = now
    for (const { name } of expired) changes.changed(name)
  })

  /** Removes groups and remembers their keys. */
  const forget = Effect.fnUntraced(function* (ids: ReadonlyArray<bigint>, now: number) {
    const text = `{${ids.join(",")}}`
    yield* sql`
      with gone as (delete from grp where id = any(${text}::bigint[]) returning submit_key)
      insert into spent_key (submit_key, dropped_at) select submit_key, ${new Date(now)} from gone on conflict do nothing`
    droppedSinceVacuum += ids.length
    textsSinceVacuum += ids.length
  })

  /** One statement for a few batches: their groups, the groups' keys, the mark that they are gone. */
  const dropConsumed = Effect.fnUntraced(function* (now: number) {
    for (;;) {
      const [dropped] = yield* sql<{ batches: number; groups: number }>`
        with excess as materialized (
          select id from (
            select id, sum(bytes) over (order by id desc) as newer from batch
            where acked_at is not null and dropped_at is null
          ) as kept
          where newer > ${settings.retainedBytes}::bigint order by id limit ${batchesAtOnce}
        ), gone as (
          delete from grp where batch_id in (select id from excess) returning submit_key
        ), remembered as (
          insert into spent_key (submit_key, dropped_at) select submit_key, ${new Date(now)} from gone
          on conflict do nothing
        ), marked as (
          update batch set dropped_at = ${new Date(now)} where id in (select id from excess)
        )
        select (select count(*)::int from excess) as batches, (select count(*)::int from gone) as groups`
      droppedSinceVacuum += dropped?.groups ?? 0
      textsSinceVacuum += dropped?.groups ?? 0
      if (dropped === undefined || dropped.batches < batchesAtOnce) return
      yield* Effect.sleep(breather)
    }
  })

  /**
   * What waited when its run was reset, but for the last that had entered the queue: it still is the latest example.
   */
  const dropUnreachable = Effect.fnUntraced(function* (now: number) {
    for (;;) {
      const left = yield* sql<{ id: bigint }>`
        select grp.id from run cross join lateral (
          select id from grp where run_id = run.id and batch_id is null order by id limit ${portion}
        ) as grp
        where run.ended_at is not null
          and grp.id is distinct from (
            select id from grp as newest where newest.run_id = run.id and place is not null order by id desc limit 1
          )
        limit ${portion}`
      if (left.length === 0) return
      yield* forget(
        left.map(({ id }) => id),
        now
      )
    }
  })

  const forgetKeys = Effect.fnUntraced(function* (now: number) {
    yield* sql`delete from spent_key where dropped_at < ${before(now, settings.keyMemory)}`
    // A server does this itself. Without it the embedded database's files would only grow.
    if (database.kind === "pglite" && droppedSinceVacuum > 256) {
      droppedSinceVacuum = 0
      yield* sql.unsafe("vacuum grp")
      yield* sql.unsafe("vacuum spent_key")
    }
    // Walks through the whole index of words, in a tenth of a second or two: seldom.
    if (database.kind === "pglite" && textsSinceVacuum > 2048) {
      textsSinceVacuum = 0
      yield* sql.unsafe("vacuum grp_text")
    }
  })

  yield* every("1 second", (now) => Effect.andThen(releaseBuffered(now), wakeClaimers))
  yield* every("5 seconds", () => lastSeen.flush)
  yield* every("1 second", dropConsumed)
  yield* every("5 seconds", (now) => Effect.andThen(dropUnreachable(now), forgetKeys(now)))
})
