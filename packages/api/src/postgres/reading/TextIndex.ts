/**
 * Extracts and stores the text of groups in the background, so that neither senders nor readers wait for it.
 *
 * One process at a time takes groups without text, oldest first, extracts their text in a thread (`TextWorker`), and
 * writes it in portions that occupy the database for some milliseconds. While groups are submitted and claimed it rests
 * four times as long as it works. Groups known to have no messages are skipped unread.
 */
import * as LogThrottle from "@atropos/core/base/LogThrottle"
import { Uuid } from "@atropos/core"
import { Clock, Duration, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Database } from "../../database/Database.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import * as GroupTexts from "./GroupTexts.ts"
import type { StoredRow } from "./GroupTexts.ts"
import type { Objects } from "../base/Objects.ts"
import type { StoreError } from "../../store/TrajectoryStore.ts"

/**
 * Tracks the progress of text extraction: all ids up to the frontier are settled. It follows the newest id with a
 * delay, since a lower id may not be committed yet.
 */
interface TextFrontier {
  readonly at: () => bigint
  /** Never decreases. */
  readonly advance: (id: bigint) => void
  /** Starts below the oldest group. */
  readonly toOldest: Effect.Effect<void, SqlError>
  /** The newest id, and the id up to which all groups are visible. */
  readonly survey: Effect.Effect<{ readonly last: bigint; readonly settled: bigint }, SqlError>
}

/** A group is visible to all this long after it got its id. */
const settling = Duration.toMillis("15 seconds")

const makeTextFrontier: Effect.Effect<TextFrontier, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let frontier = 0n
  /** Past values of the newest id, oldest first. */
  const newest: Array<{ readonly at: number; readonly id: bigint }> = []

  return {
    at: () => frontier,
    advance: (id) => {
      if (id > frontier) frontier = id
    },
    toOldest: Effect.map(sql<{ id: bigint | null }>`select min(id) as id from grp`, ([row]) => {
      frontier = (row?.id ?? 1n) - 1n
    }),
    survey: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<{ newest: bigint | null }>`select max(id) as newest from grp`
      const last = row?.newest ?? 0n
      newest.push({ at: now, id: last })
      while (newest.length > 1 && newest[1]!.at <= now - settling) newest.shift()
      const [oldest] = newest
      return { last, settled: oldest !== undefined && oldest.at <= now - settling ? oldest.id : 0n }
    })
  }
})

/**
 * Fetches the payloads of stored groups for text extraction, from the row or object storage, without lost ones.
 * Fails if a payload is temporarily unavailable.
 */
const loadPayloads = (
  objects: Objects,
  rows: ReadonlyArray<StoredRow>
): Effect.Effect<ReadonlyArray<StoredRow>, SqlError | StoreError> =>
  Effect.map(
    Effect.forEach(
      rows,
      (row) =>
        objects.bring(row).pipe(
          Effect.catchTag("StoreError", (error) =>
            error.isTransient
              ? Effect.fail(error)
              : Effect.as(
                  Effect.logWarning("payload of a group lost; searches skip it", {
                    group: row.id,
                    reason: error.message
                  }),
                  undefined
                )
          )
        ),
      { concurrency: "unbounded" }
    ),
    (rows) => rows.filter((row) => row !== undefined)
  )

export interface TextIndex {
  /** Number of groups of these runs that may have text but are not searchable yet. */
  readonly unindexed: (runs: ReadonlyArray<number>) => Effect.Effect<number, SqlError>
  /** Previews of groups not extracted yet: of the first ones, as far as they can be read quickly. */
  readonly previews: (ids: ReadonlyArray<bigint>) => Effect.Effect<ReadonlyMap<bigint, string | null>, SqlError>
}

interface Waiting {
  readonly id: bigint
  readonly bytes: number
}

/** Ids scanned per statement, and groups and stored bytes processed together. */
const idsAtOnce = 10_000n
const groupsAtOnce = 64
const bytesAtOnce = 2 * 1024 ** 2

/** A screenful, and stored bytes that are read in hundredths of a second. */
const previewsAtOnce = 40
const previewBytes = 512 * 1024

const pause: Duration.Input = "1 second"
const maxRestLength = 1000
const leaseMillis = Duration.toMillis("30 seconds")

export const make = Effect.fnUntraced(function* (
  notifications: Notifications,
  objects: Objects
): Effect.fn.Return<TextIndex, never, SqlClient.SqlClient | Database | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  const self = Uuid.v7()
  const texts = yield* GroupTexts.make
  const frontier = yield* makeTextFrontier

  const isWaiting = sql.literal(
    "has_messages is distinct from false and not exists (select from grp_text where group_id = grp.id)"
  )

  /** The oldest groups without text, within the limits above. */
  const look = Effect.fnUntraced(function* (from: bigint) {
    const rows = yield* sql<Waiting>`
      select id, stored_bytes(encoding, payload)::int as bytes from grp
      where id > ${from} and id <= ${from + idsAtOnce} and ${isWaiting} order by id limit ${groupsAtOnce}`
    let bytes = 0
    return rows.filter((row, i) => (bytes += row.bytes) <= bytesAtOnce || i === 0)
  })

  const read = (ids: ReadonlyArray<bigint>) =>
    Effect.flatMap(
      sql<GroupTexts.StoredRow>`
        select id, encoding, payload from grp where id = any(${Rows.array("int8", ids)}::bigint[]) order by id`,
      (rows) => loadPayloads(objects, rows)
    )

  /** Returns true if this process may work: one of those on the same database does. */
  const isMine = Effect.fnUntraced(function* (now: number) {
    if (database.kind === "pglite") return true
    const held = yield* sql`
      insert into text_worker (id, owner, held_until)
      values (1, ${self}::uuid, ${new Date(now + leaseMillis)})
      on conflict (id) do update set owner = excluded.owner, held_until = excluded.held_until
      where text_worker.owner = excluded.owner or text_worker.held_until < ${new Date(now)}
      returning id`
    return held.length > 0
  })

  /** Works until nothing is left, or another process works. */
  const round = Effect.gen(function* () {
    const { last, settled } = yield* frontier.survey
    // Everything below this has text, needs none, or is not visible yet.
    let done = frontier.at()
    while (done < last) {
      const started = yield* Clock.currentTimeMillis
      const changed = notifications.count()
      const waiting = yield* look(done)
      if (waiting.length === 0) done += idsAtOnce
      else {
        if (!(yield* isMine(started))) return
        yield* texts.write(yield* texts.find(yield* read(waiting.map(({ id }) => id))))
        done = waiting.at(-1)!.id
      }
      frontier.advance(done < settled ? done : settled)
      if (waiting.length === 0) continue
      const elapsed = (yield* Clock.currentTimeMillis) - started
      // No rest if the service was otherwise idle.
      yield* Effect.sleep(notifications.count() === changed ? 1 : Math.min(maxRestLength, Math.max(20, 4 * elapsed)))
    }
  })

  // A full disk fails every second.
  const failures = LogThrottle.make()
  const failed = "text of groups not indexed; retrying"
  const rarely = (log: Effect.Effect<void>) =>
    Effect.suspend(() => (LogThrottle.isWorthLogging(failures.count(failed)) ? log : Effect.void))
  const attempt = round.pipe(
    Effect.catchTags({
      SqlError: (error) => rarely(Failure.warn(failed)(error)),
      StoreError: ({ message }) => rarely(Effect.logWarning(failed, { reason: message }))
    }),
    Effect.catchDefect((cause) =>
      Effect.andThen(
        Effect.logError("text of groups not indexed; retrying in a minute", { cause }),
        Effect.sleep("1 minute")
      )
    )
  )
  yield* frontier.toOldest.pipe(
    Effect.catchTag("SqlError", Failure.warn("text of groups not indexed from the oldest")),
    Effect.andThen(Effect.forever(Effect.andThen(attempt, Effect.sleep(pause)))),
    Effect.forkScoped
  )

  return {
    previews: Effect.fnUntraced(function* (ids) {
      if (ids.length === 0) return new Map()
      const first = Rows.array("int8", ids.slice(0, previewsAtOnce))
      const rows = yield* sql<GroupTexts.StoredRow>`
        select id, encoding, payload from (
          select id, encoding, payload, sum(stored_bytes(encoding, payload)) over (order by id desc) as bytes
          from grp where id = any(${first}::bigint[])
        ) as grp where bytes <= ${previewBytes} order by id desc`
      // A page is useful without previews.
      const previews = yield* texts.find(
        yield* Effect.catchTag(loadPayloads(objects, rows), "StoreError", () => Effect.succeed([]))
      )
      return new Map(previews.map(({ id, preview }) => [id, preview]))
    }),
    unindexed: (runs) =>
      Effect.map(
        sql<{ count: number }>`
          select count(*)::int as count from grp
          where id > ${frontier.at()} and run_id = any(${Rows.array("int4", runs)}::int[]) and ${isWaiting}`,
        ([row]) => row?.count ?? 0
      )
  }
})
