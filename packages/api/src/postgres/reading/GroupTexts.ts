/** Extracts the texts of stored groups in a thread (`TextWorker`) and writes them next to the groups. */
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import * as Thread from "../../base/Thread.ts"
import * as Rows from "../base/Rows.ts"
import type { Reply, Task } from "./TextWorker.ts"

export type StoredRow = Pick<Rows.GroupRow, "id" | "encoding" | "payload">

export type GroupText = Reply & { readonly id: bigint }

export interface GroupTexts {
  /** A group whose text cannot be extracted has none, and does not block others. */
  readonly find: (rows: ReadonlyArray<StoredRow>) => Effect.Effect<ReadonlyArray<GroupText>>
  /** Writes in portions that occupy the database for some milliseconds. */
  readonly write: (texts: ReadonlyArray<GroupText>) => Effect.Effect<void, SqlError>
}

/** Max distinct words per write: each is an index entry, and these take a few milliseconds. */
const wordsAtOnce = 3000

const emptyReply: Reply = { preview: null, body: null, count: 0, figures: null }

export const make: Effect.Effect<GroupTexts, never, SqlClient.SqlClient | Scope.Scope> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ask = yield* Thread.make<ReadonlyArray<Reply>>("TextWorker", import.meta.url)
  // Groups were validated on arrival, and there are few at a time.
  const textsOf = (tasks: ReadonlyArray<Task>) => Effect.orDie(ask(tasks))

  const find = Effect.fnUntraced(function* (
    rows: ReadonlyArray<StoredRow>
  ): Effect.fn.Return<ReadonlyArray<GroupText>> {
    const tasks = rows.map(({ encoding, payload }): Task => ({ encoding, bytes: payload }))
    const texts = yield* textsOf(tasks).pipe(
      Effect.catchDefect((cause) =>
        rows.length > 1
          ? Effect.undefined
          : textsOf([]).pipe(
              // The thread works, so this group is the cause.
              Effect.andThen(
                Effect.logWarning("cannot extract the text of a group; searches skip it", {
                  group: rows[0]?.id,
                  cause
                })
              ),
              Effect.as([emptyReply])
            )
      )
    )
    if (texts !== undefined) return texts.map((text, i) => ({ ...text, id: rows[i]!.id }))
    return (yield* Effect.forEach(rows, (row) => find([row]))).flat()
  })

  const insert = (groups: ReadonlyArray<GroupText>) => {
    const ids = Rows.array(
      "int8",
      groups.map(({ id }) => id)
    )
    const texts = (column: "preview" | "body") =>
      Rows.array(
        "text",
        groups.map((one) => one[column])
      )
    const figures = groups.filter((one) => one.figures !== null)
    const figure = (type: "text" | "float8", of: (figures: NonNullable<Reply["figures"]>) => unknown) =>
      Rows.array(
        type,
        figures.map(({ figures }) => of(figures!))
      )
    const figureIds = Rows.array(
      "int8",
      figures.map(({ id }) => id)
    )
    // Skips groups dropped meanwhile. Does not wait for the disk: texts lost in a crash are extracted again.
    return sql`
      with texts as (
        insert into grp_text (group_id, preview, body)
        select grp.id, i.preview, i.body
        from unnest(${ids}::bigint[], ${texts("preview")}::text[], ${texts("body")}::text[]) as i (id, preview, body)
          join grp using (id)
          cross join (select set_config('synchronous_commit', 'off', true)) as unsynced
        order by grp.id on conflict do nothing
      )
      insert into grp_figure (group_id, prompt, length, longest_best, truncated, tool_errors, surprise, surprise_best, components,
        lengths, answers, expected)
      select grp.id, i.prompt, i.length, i.longest_best, i.truncated, i.tool_errors, i.surprise, i.surprise_best,
        i.components::jsonb,
        array(select json_array_elements_text(i.lengths::json)::int),
        array(select json_array_elements_text(i.answers::json)), i.expected
      from unnest(
          ${figureIds}::bigint[], ${figure("text", ({ prompt }) => prompt)}::text[],
          ${figure("float8", ({ length }) => length)}::float8[],
          ${figure("float8", ({ longestBest }) => longestBest)}::float8[],
          ${figure("float8", ({ truncated }) => truncated)}::float8[],
          ${figure("float8", ({ toolErrors }) => toolErrors)}::float8[],
          ${figure("float8", ({ surprise }) => surprise)}::float8[],
          ${figure("float8", ({ surpriseBest }) => surpriseBest)}::float8[],
          ${figure("text", ({ components }) => JSON.stringify(components))}::text[],
          ${figure("text", ({ lengths }) => JSON.stringify(lengths))}::text[],
          ${figure("text", ({ answers }) => JSON.stringify(answers))}::text[],
          ${figure("text", ({ expected }) => expected ?? null)}::text[]
        ) as i (id, prompt, length, longest_best, truncated, tool_errors, surprise, surprise_best, components,
          lengths, answers, expected)
        join grp using (id)
      order by grp.id on conflict do nothing`
  }

  const write: GroupTexts["write"] = Effect.fnUntraced(function* (groups: ReadonlyArray<GroupText>) {
    for (let from = 0; from < groups.length;) {
      let words = groups[from]!.count
      let until = from + 1
      while (until < groups.length && words + groups[until]!.count <= wordsAtOnce) words += groups[until++]!.count
      yield* insert(groups.slice(from, until))
      from = until
    }
  })

  return { find, write }
})
