/** Reads and writes notes on rollouts. */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type NoteStoreShape, TooManyNotes, UnknownGroup } from "../../store/NoteStore.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunNames } from "../base/RunNames.ts"

const max = 10_000

/** Place of a note on the whole group. */
const whole = -1

interface NoteRead {
  readonly group_id: bigint
  readonly rollout: number
  readonly is_bookmarked: boolean
  readonly labels: ReadonlyArray<string>
  readonly body: string
  readonly changed_at: Date
}

const toNote = ({ body, changed_at, group_id, is_bookmarked, labels, rollout }: NoteRead): TrajectoryApi.Note => ({
  group: String(group_id),
  rollout: rollout === whole ? null : rollout,
  bookmarked: is_bookmarked,
  labels,
  text: body,
  at: changed_at.getTime()
})

const saysNothing = ({ bookmarked, labels, text }: TrajectoryApi.NoteChange): boolean =>
  !bookmarked && labels.length === 0 && text === ""

export const make = Effect.fnUntraced(function* (
  names: RunNames
): Effect.fn.Return<NoteStoreShape, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const notes: NoteStoreShape["notes"] = Effect.fn("NoteStore.notes")(function* (run) {
    const { ids } = yield* names.idsOf(run)
    const rows = yield* sql<NoteRead>`
      select group_id, rollout, is_bookmarked, labels, body, changed_at from note
      where run_id = any(${Rows.array("int4", ids)}::int[]) order by changed_at desc, group_id, rollout limit ${max}`
    return rows.map(toNote)
  }, Failure.orStoreError)

  const write: NoteStoreShape["write"] = Effect.fn("NoteStore.write")(function* (run, group, change) {
    const { ids } = yield* names.idsOf(run)
    const runs = Rows.array("int4", ids)
    const now = new Date(yield* Clock.currentTimeMillis)
    const rollout = change.rollout ?? whole
    // Ids have at most 18 digits; longer ones would overflow the column.
    const [known] = /^\d{1,18}$/.test(group)
      ? yield* sql<{ run_id: number; sequences: number; others: number }>`
          select run_id, sequences, (
            select count(*)::int from note
            where note.run_id = grp.run_id and (note.group_id, note.rollout) <> (grp.id, ${rollout})
          ) as others
          from grp where id = ${group}::bigint and run_id = any(${runs}::int[])`
      : []
    if (known === undefined || rollout >= known.sequences) return yield* new UnknownGroup({ run, group })
    if (saysNothing(change)) {
      yield* sql`delete from note where group_id = ${group}::bigint and rollout = ${rollout}`
      return
    }
    // An existing note may be changed even at the limit.
    if (known.others >= max) return yield* new TooManyNotes({ max })
    yield* sql`
      insert into note (group_id, rollout, run_id, is_bookmarked, labels, body, changed_at)
      values (${group}::bigint, ${rollout}, ${known.run_id}, ${change.bookmarked},
        ${Rows.array("text", [...new Set(change.labels)])}::text[], ${change.text}, ${now})
      on conflict (group_id, rollout) do update set is_bookmarked = excluded.is_bookmarked, labels = excluded.labels,
        body = excluded.body, changed_at = excluded.changed_at`
  }, Failure.orStoreError)

  return { notes, write }
})
