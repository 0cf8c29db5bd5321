/**
 * The text of groups, found and stored after the groups are, so that nobody who sends or fetches waits for it.
 *
 * One process at a time works through the groups that have no text yet, oldest first, a few at once: reads them, finds
 * their text in a thread (`TextWorker`), and writes it in portions that hold the database up for some milliseconds.
 * While groups are sent and fetched it rests four times as long as it works. Groups that are known to have no messages
 * are passed over unread.
 */
import { Uuid } from "@atropos/core"
import { Clock, Duration, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Database } from "../../database/Database.ts"
import type { Changes } from "../base/Changes.ts"
import * as Failure from "../base/Failure.ts"
import * as PayloadRows from "./PayloadRows.ts"
import * as Rows from "../base/Rows.ts"
import * as GroupTexts from "./GroupTexts.ts"
import type { Objects } from "../base/Objects.ts"
import * as TextFrontier from "./TextFrontier.ts"

export interface TextIndex {
  /** Groups of these runs that may have text, and are not searched yet. */
  readonly unindexed: (runs: ReadonlyArray<number>) => Effect.Effect<number, SqlError>
  /**
   * The previews of groups that are looked at before their turn: of the first of them, as far as they are read quickly.
   */
  readonly previews: (ids: ReadonlyArray<bigint>) => Effect.Effect<ReadonlyMap<bigint, string | null>, SqlError>
}

interface Waiting {
  readonly id: bigint
  readonly bytes: number
}

/** Ids that are looked through in one statement, and groups and stored bytes that are worked on at once. */
const idsAtOnce = 10_000n
const groupsAtOnce = 64
const bytesAtOnce = 2 * 1024 ** 2

/** As many as somebody sees at once, and stored bytes that are read in some hundredths of a second. */
const previewsAtOnce = 40
const previewBytes = 512 * 1024

const pause: Duration.Input = "1 second"
/** However long a piece of work was held up. */
const longestRest = 1000
const leaseMillis = Duration.toMillis("30 seconds")

export const make = Effect.fnUntraced(function* (
  changes: Changes,
  objects: Objects
): Effect.fn.Return<TextIndex, never, SqlClient.SqlClient | Database | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  const self = Uuid.v7()
  const texts = yield* GroupTexts.make
  const frontier = yield* TextFrontier.make

  const isWaiting = sql.literal(
    "has_messages is distinct from false and not exists (select from grp_text where group_id = grp.id)"
  )

  /** The oldest that wait, few enough to be worked on at once. */
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
      (rows) => PayloadRows.bring(objects, rows)
    )

  /** Whether this process may work: of several on one database one does. */
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

  /** Works until nothing waits, or somebody else works. */
  const round = Effect.gen(function* () {
    const { last, settled } = yield* frontier.survey
    // What is below this has text, needs none, or is not to be seen yet.
    let done = frontier.at()
    while (done < last) {
      const started = yield* Clock.currentTimeMillis
      const changed = changes.count()
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
      // Where nobody else had anything to do there is no need to rest.
      yield* Effect.sleep(changes.count() === changed ? 1 : Math.min(longestRest, Math.max(20, 4 * elapsed)))
    }
  })

  const attempt = round.pipe(
    Effect.catchTags({
      SqlError: Failure.warn("text of groups not indexed; trying again"),
      StoreError: ({ message }) => Effect.logWarning("text of groups not indexed; trying again", { reason: message })
    }),
    Effect.catchDefect((cause) =>
      Effect.andThen(
        Effect.logError("text of groups cannot be indexed; trying again in a minute", { cause }),
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
      // A page is worth showing without them.
      const previews = yield* texts.find(
        yield* Effect.catchTag(PayloadRows.bring(objects, rows), "StoreError", () => Effect.succeed([]))
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
