/** Stored groups for browsing, those of ended runs too, where they were consumed. */
import type { TrajectoryApi } from "@atropos/core"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Fragment } from "effect/sql/Statement"
import type { RolloutFilter, RolloutReaderShape } from "../../store/RolloutReader.ts"
import * as RolloutText from "../../rollout/RolloutText.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunIds, RunNames } from "../base/RunNames.ts"
import type { TextIndex } from "./TextIndex.ts"

export type Browse = Pick<RolloutReaderShape, "rollouts" | "rollout">

interface BrowseRow extends Rows.EnvelopeRow {
  readonly environment: string | null
  readonly step: bigint | null
  readonly state: TrajectoryApi.RolloutRow["state"]
  readonly preview: string | null
  /** It may have a preview that was not found yet. */
  readonly is_unread: boolean
}

const toRow = (row: BrowseRow): TrajectoryApi.RolloutRow => ({
  ...Rows.toEnvelope(row),
  environment: row.environment,
  step: row.step === null ? null : Rows.toInt(row.step),
  state: row.state,
  preview: row.preview
})

const isId = (id: string) => /^\d{1,18}$/.test(id)

/** As Postgres writes it; words have no character that would have to be escaped. */
const toTsquery = (query: RolloutText.Query): string =>
  query
    .flatMap(({ isWhole, words }) => words.map((word, i) => `'${word}'${isWhole || i < words.length - 1 ? "" : ":*"}`))
    .join(" & ")

/** Phrases: what the words alone do not tell. */
const phrasesOf = (query: RolloutText.Query | undefined): ReadonlyArray<string> =>
  (query ?? []).filter(({ words }) => words.length > 1).map(RolloutText.needleOf)

/**
 * Of so many groups that have a phrase's words the text is read, to count those that have the phrase: in a tenth of a
 * second. Where there are more, only so many are read as the page takes, and nobody counts.
 */
const mostRead = 2000

export const make = Effect.fnUntraced(function* (
  names: RunNames,
  index: TextIndex
): Effect.fn.Return<Browse, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const columns =
    sql.literal(`grp.id, grp.env_id, grp.sequences, grp.tokens, grp.scores, grp.policy_step, grp.created_at,
    env.name as environment, batch.step, grp_text.preview,
    grp.has_messages is distinct from false and grp_text.group_id is null as is_unread,
    case
      when batch.acked_at is not null then 'consumed'
      when batch.lease_until is not null then 'leased'
      when batch.id is not null then 'formed'
      when grp.place is null then 'buffered'
      else 'queued'
    end as state`)
  const joined = sql.literal(`left join batch on batch.id = grp.batch_id
    left join env on env.run_id = grp.run_id and env.env_id = grp.env_id
    left join grp_text on grp_text.group_id = grp.id`)

  /** Of these runs, the current one's groups all, of the others those that were consumed. */
  const within = ({ current, ids }: RunIds): Fragment =>
    ids.length === 1 && current !== undefined
      ? sql`grp.run_id = ${current}`
      : sql`grp.run_id = any(${Rows.array("int4", ids)}::int[]) and (grp.run_id = ${current ?? -1} or grp.batch_id is not null)`

  const conditions = (
    run: RunIds,
    { before, environment, scoreFrom, scoreTo, stepFrom, stepTo, text }: RolloutFilter
  ): Fragment => {
    const ids = Rows.array("int4", run.ids)
    // "is true" keeps these from becoming joins, whose order would be guessed: few databases here have been analyzed.
    const hasStep = stepFrom !== undefined || stepTo !== undefined
    return sql.and([
      // A batch has groups of its own run alone.
      hasStep
        ? sql`grp.batch_id in (
            select id from batch
            where run_id = any(${ids}::int[]) and step between ${stepFrom ?? 0} and ${stepTo ?? Number.MAX_SAFE_INTEGER}
          )`
        : within(run),
      ...(text === undefined ? [] : [sql`(grp.id in (select groups_with_words(${toTsquery(text)}::tsquery))) is true`]),
      ...(environment === undefined
        ? []
        : [
            sql`((grp.run_id, grp.env_id) in (
              select run_id, env_id from env where run_id = any(${ids}::int[]) and name = ${environment}
            )) is true`
          ]),
      ...(scoreFrom === undefined ? [] : [sql`grp.score_mean >= ${scoreFrom}::float8`]),
      ...(scoreTo === undefined ? [] : [sql`grp.score_mean <= ${scoreTo}::float8`]),
      ...(before === undefined ? [] : [sql`grp.id < ${before}::bigint`])
    ])
  }

  const rollouts: Browse["rollouts"] = Effect.fn("RolloutReader.rollouts")(function* (name, filter) {
    const { before, limit, text } = filter
    const run = yield* names.idsOf(name)
    if (before !== undefined && !isId(before)) return { rows: [], next: null, total: null, unindexed: null }
    const isFirst = before === undefined
    const phrases = phrasesOf(text)
    const matching = sql`select id from grp where ${conditions(run, filter)} order by id desc`
    // The first page also counts: all that match are looked for once, and the page is taken from them.
    const candidates = phrases.length > 0 || isFirst ? matching : sql`${matching} limit ${limit + 1}`
    const withPhrases =
      phrases.length === 0
        ? sql`select id from matching`
        : // One group after the other, newest first, until there are enough.
          sql`select id from matching
            where (
              select bool_and(strpos(body, phrase) > 0)
              from grp_text cross join unnest(${Rows.array("text", phrases)}::text[]) as phrase where group_id = matching.id
            )
            limit case when ${isFirst} and (select count(*) <= ${mostRead} from matching) then null else ${limit + 1}::bigint end`
    const rows = yield* sql<BrowseRow & { readonly total: number; readonly is_counted: boolean }>`
      with matching as materialized (${candidates}),
        candidates as materialized (${withPhrases}),
        page as materialized (select id from candidates order by id desc limit ${limit + 1})
      select ${columns}, (select count(*)::int from candidates) as total,
        ${phrases.length === 0} or (select count(*) <= ${mostRead} from matching) as is_counted
      from page join grp using (id) ${joined} order by grp.id desc`
    const previews = yield* index.previews(rows.slice(0, limit).flatMap((row) => (row.is_unread ? [row.id] : [])))
    const page = rows.slice(0, limit).map((row) => ({
      ...toRow(row),
      preview: row.preview ?? previews.get(row.id) ?? null
    }))
    const hasMore = rows.length > limit
    const [first] = rows
    return {
      rows: page,
      next: hasMore ? (page.at(-1)?.id ?? null) : null,
      // None found are counted, and so are all that are on the page.
      total: !isFirst || first === undefined ? (isFirst ? 0 : null) : first.is_counted || !hasMore ? first.total : null,
      unindexed: isFirst ? yield* index.unindexed(run.ids) : null
    }
  }, Failure.orStoreError)

  const rollout: Browse["rollout"] = Effect.fn("RolloutReader.rollout")(function* (name, id) {
    const run = yield* names.idsOf(name)
    if (!isId(id)) return Option.none()
    const [row] = yield* sql<BrowseRow & Pick<Rows.GroupRow, "encoding" | "payload">>`
      select ${columns}, grp.encoding, grp.payload from grp ${joined}
      where grp.id = ${id}::bigint and ${within(run)}`
    if (row === undefined) return Option.none()
    const payload = yield* Codec.decode({ encoding: row.encoding, bytes: row.payload })
    return Option.some({ ...toRow(row), payload })
  }, Failure.orStoreError)

  return { rollouts, rollout }
})
