/**
 * What is kept and what goes: the oldest consumed groups beyond the bound, what a reset left behind, keys of groups
 * that are long gone. In small portions: rows with large payloads are slow to remove, and nobody waits long for them.
 */
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Database } from "../../database/Database.ts"
import type { Settings } from "../base/Settings.ts"

export interface Retention {
  /** Removes the oldest consumed groups beyond `retainedBytes`. */
  readonly dropConsumed: (now: number) => Effect.Effect<void, SqlError>
  /**
   * Removes what waited when its run was reset, but for the last that had entered the queue: it still is the example.
   */
  readonly dropUnreachable: (now: number) => Effect.Effect<void, SqlError>
  /** Removes keys older than `keyMemory`. */
  readonly forgetKeys: (now: number) => Effect.Effect<void, SqlError>
}

const portion = 64
const batchesAtOnce = 4
const breather: Duration.Input = "20 millis"

export const make = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Retention, never, SqlClient.SqlClient | Database> {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  let droppedSinceVacuum = 0
  let textsSinceVacuum = 0

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
    yield* sql`delete from spent_key where dropped_at < ${new Date(now - Duration.toMillis(settings.keyMemory))}`
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

  return { dropConsumed, dropUnreachable, forgetKeys }
})
