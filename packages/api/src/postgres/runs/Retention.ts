/**
 * Removes old data: the oldest consumed groups above the limit, the remains of resets and deletions, and keys and
 * batches of long dropped groups. Works in small portions, since rows with large payloads are slow to delete and other
 * work must not wait long. Freed space is reclaimed meanwhile, so that files do not grow (`Vacuum`).
 */
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Settings } from "../base/Settings.ts"

/**
 * Reclaims the space of removed groups, so that files stop growing once removals match arrivals. The embedded database
 * has no autovacuum. A server's runs once a minute, or never if disabled, and tolerates a fifth of a table as dead
 * rows: a minute's groups would be a minute's growth.
 */
interface Vacuum {
  readonly dropped: (groups: number) => void
  readonly run: Effect.Effect<void, SqlError>
}

/** Every vacuum scans all indexes, so at least this many groups and this share of all must have been removed. */
const minGroups = 256
const share = 0.05
/** The word index takes tenths of a second, so it is vacuumed rarely. */
const minTexts = 2048

const makeVacuum: Effect.Effect<Vacuum, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let groups = 0
  let texts = 0

  // Skips tables locked by another process or autovacuum.
  const clean = (table: string) => sql.unsafe(`vacuum (skip_locked) ${table}`)

  return {
    dropped: (count) => {
      groups += count
      texts += count
    },
    run: Effect.gen(function* () {
      if (groups <= minGroups) return
      const [known] = yield* sql<{ rows: number }>`
        select reltuples::float8 as rows from pg_class where oid = 'grp'::regclass`
      const enough = share * (known?.rows ?? 0)
      if (groups <= enough) return
      groups = 0
      for (const table of ["grp", "spent_key", "batch", "queued"]) yield* clean(table)
      if (texts <= Math.max(minTexts, enough)) return
      texts = 0
      for (const table of ["grp_text", "grp_figure"]) yield* clean(table)
    })
  }
})

export interface Retention {
  /** Removes the oldest consumed groups above `retainedBytes`. */
  readonly dropConsumed: (now: number) => Effect.Effect<void, SqlError>
  /** Removes groups left queued by a reset, except the last one queued, which remains the latest example. */
  readonly dropUnreachable: (now: number) => Effect.Effect<void, SqlError>
  /** Removes the data of deleted runs, their own rows last. */
  readonly dropDeleted: (now: number) => Effect.Effect<void, SqlError>
  /** Removes keys older than `keyMemory`, and batches whose groups were dropped before that. */
  readonly forgetKeys: (now: number) => Effect.Effect<void, SqlError>
}

const portion = 64
const batchesAtOnce = 4
/** Size of a group besides its payload: its row and index entries. */
const rowBytes = 1024
/** The newest batches of a run are shown with their times even after their groups are gone. */
const batchesShown = 100
/** Rows without payloads are faster to delete. */
const smallRows = 2000
/** A submission in progress when its run was deleted has ended by then. */
const settled = Duration.toMillis("1 minute")
const breather: Duration.Input = "20 millis"

export const make = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Retention, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const vacuum = yield* makeVacuum

  const forget = Effect.fnUntraced(function* (ids: ReadonlyArray<bigint>, now: number) {
    const text = `{${ids.join(",")}}`
    yield* sql`
      with gone as (delete from grp where id = any(${text}::bigint[]) returning run_id, submit_key)
      insert into spent_key (run_id, submit_key, dropped_at) select run_id, submit_key, ${new Date(now)} from gone
      on conflict do nothing`
    vacuum.dropped(ids.length)
  })

  /** One statement for a few batches: deletes their groups, saves the keys, marks the batches. */
  const dropConsumed = Effect.fnUntraced(function* (now: number) {
    for (;;) {
      const [dropped] = yield* sql<{ batches: number; groups: number }>`
        with kept as (
          select id, bytes + ${rowBytes}::bigint * groups as bytes from batch
          where acked_at is not null and dropped_at is null
        ), excess as materialized (
          -- From the oldest on, while too much is left: the rest is summed up, not scanned.
          select id from (select id, sum(bytes) over (order by id) - bytes as older from kept) as aged
          where older < (select sum(bytes) from kept) - ${settings.retainedBytes}::bigint
          order by id limit ${batchesAtOnce}
        ), gone as (
          delete from grp where batch_id in (select id from excess) returning run_id, submit_key
        ), remembered as (
          insert into spent_key (run_id, submit_key, dropped_at) select run_id, submit_key, ${new Date(now)} from gone
          on conflict do nothing
        ), marked as (
          update batch set dropped_at = ${new Date(now)} where id in (select id from excess)
        )
        select (select count(*)::int from excess) as batches, (select count(*)::int from gone) as groups`
      vacuum.dropped(dropped?.groups ?? 0)
      if (dropped === undefined || dropped.batches < batchesAtOnce) return
      yield* Effect.sleep(breather)
    }
  })

  const dropUnreachable = Effect.fnUntraced(function* (now: number) {
    for (;;) {
      const left = yield* sql<{ id: bigint }>`
        select waiting.id from run cross join lateral (
          -- Two queries, each by an index of waiting groups: consumed ones may be millions.
          (select id from grp where run_id = run.id and place is null limit ${portion})
          union all
          (select id from grp where run_id = run.id and batch_id is null and place is not null limit ${portion})
        ) as waiting
        where run.ended_at is not null
          and waiting.id is distinct from (
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

  const dropDeleted = Effect.fnUntraced(function* (now: number) {
    for (;;) {
      const left = yield* sql<{ id: bigint }>`
        select gone.id from run cross join lateral (select id from grp where run_id = run.id limit ${portion}) as gone
        where run.deleted_at is not null limit ${portion}`
      if (left.length === 0) break
      yield* forget(
        left.map(({ id }) => id),
        now
      )
      yield* Effect.sleep(breather)
    }
    for (;;) {
      const metrics = yield* sql`
        delete from metric using (
          select metric.id from metric join run on run.id = run_id where run.deleted_at is not null limit ${smallRows}
        ) as gone where metric.id = gone.id returning metric.id`
      if (metrics.length < smallRows) break
      yield* Effect.sleep(breather)
    }
    const empty = yield* sql<{ id: number }>`
      select id from run where deleted_at <= ${new Date(now - settled)}
        and not exists (select from grp where run_id = run.id) and not exists (select from metric where run_id = run.id)`
    for (const { id } of empty) {
      for (const table of ["piece", "env_report", "queued", "batch", "env"]) {
        yield* sql`delete from ${sql(table)} where run_id = ${id}`
      }
      yield* sql`delete from run where id = ${id}`
    }
  })

  const forgetKeys = Effect.fnUntraced(function* (now: number) {
    const long = new Date(now - Duration.toMillis(settings.keyMemory))
    yield* sql`delete from spent_key where dropped_at < ${long}`
    yield* sql`
      delete from batch using run
      where run.id = batch.run_id and batch.dropped_at < ${long} and batch.step <= run.starting_step + run.batches - ${batchesShown}`
    yield* vacuum.run
  })

  return { dropConsumed, dropUnreachable, dropDeleted, forgetKeys }
})
