/** Queries stored groups for browsing, including consumed groups of ended runs. */
import type { TrajectoryApi } from "@atropos/core"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import * as RolloutText from "../../rollout/RolloutText.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import type { Objects } from "../base/Objects.ts"
import * as Rows from "../base/Rows.ts"
import type { LogprobRecords } from "../queue/TrainedLogprobs.ts"
import * as RunNames from "../base/RunNames.ts"
import * as RolloutConditions from "./RolloutConditions.ts"
import * as RolloutValues from "./RolloutValues.ts"
import type { TextIndex } from "./TextIndex.ts"

export type Browse = Pick<RolloutReaderShape, "rollouts" | "rollout">

interface BrowseRow extends Rows.EnvelopeRow {
  readonly environment: string | null
  readonly step: bigint | null
  readonly state: TrajectoryApi.RolloutRow["state"]
  readonly preview: string | null
  readonly item_id: string | null
  /** Its text may not have been extracted yet. */
  readonly is_unread: boolean
  /** Its metrics, all null if not extracted. */
  readonly prompt: string | null
  readonly length: number | null
  readonly longest_best: number
  readonly truncated: number
  readonly tool_errors: number
  readonly surprise: number | null
  readonly surprise_best: number | null
  readonly components: { readonly [component: string]: number }
  readonly lengths: ReadonlyArray<number>
  readonly answers: ReadonlyArray<string>
  readonly expected: string | null
}

const figuresOf = (row: BrowseRow): TrajectoryApi.GroupFigures | null =>
  row.length === null
    ? null
    : {
        prompt: row.prompt,
        length: row.length,
        longestBest: row.longest_best,
        truncated: row.truncated,
        toolErrors: row.tool_errors,
        surprise: row.surprise,
        surpriseBest: row.surprise_best,
        components: row.components,
        lengths: row.lengths,
        answers: row.answers,
        ...(row.expected !== null && { expected: row.expected })
      }

const toRow = (row: BrowseRow): TrajectoryApi.RolloutRow => ({
  ...Rows.toEnvelope(row),
  environment: row.environment,
  step: row.step === null ? null : Rows.toInt(row.step),
  state: row.state,
  preview: row.preview,
  figures: figuresOf(row),
  itemId: row.item_id
})

const isId = (id: string) => /^\d{1,18}$/.test(id)

const phrasesOf = (query: RolloutText.Query | undefined): ReadonlyArray<string> =>
  (query ?? []).filter(({ words }) => words.length > 1).map(RolloutText.needleOf)

/**
 * Max groups whose text is read to count phrase matches, in a tenth of a second. Above it only as many are read as the
 * page needs, without a count.
 */
const maxRead = 2000

export const make = Effect.fnUntraced(function* (
  names: RunNames.RunNames,
  index: TextIndex,
  objects: Objects,
  logprobs: Pick<LogprobRecords, "ofGroup">
): Effect.fn.Return<Browse, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const columns =
    sql.literal(`grp.id, grp.env_id, grp.sequences, grp.tokens, grp.scores, grp.policy_step, grp.created_at, grp.item_id,
    env.name as environment, batch.step, grp_text.preview,
    grp.has_messages is distinct from false and grp_text.group_id is null as is_unread,
    fig.prompt, fig.length, fig.longest_best, fig.truncated, fig.tool_errors, fig.surprise, fig.surprise_best,
    fig.components, fig.lengths, fig.answers, fig.expected,
    ${RolloutConditions.state} as state`)
  const joined = sql.literal(`left join batch on batch.id = grp.batch_id
    left join env on env.run_id = grp.run_id and env.env_id = grp.env_id
    left join grp_text on grp_text.group_id = grp.id left join grp_figure as fig on fig.group_id = grp.id`)

  const rollouts: Browse["rollouts"] = Effect.fn("RolloutReader.rollouts")(function* (name, filter) {
    const { before, limit, sort, text } = filter
    const runs = yield* names.idsOf(name)
    // Like distributions, which only cover the newest run.
    const run = filter.newestRun !== undefined || filter.value !== undefined ? RunNames.newestOf(runs) : runs
    if (before !== undefined && !isId(before)) return { rows: [], next: null, total: null, unindexed: null }
    const isFirst = before === undefined
    const phrases = phrasesOf(text)
    const values = filter.value === undefined ? undefined : yield* RolloutValues.of(sql, filter.value, run.latest)
    // When not ordered by id, `before` is an offset.
    const offset = sort === undefined ? 0 : Number(before ?? 0)
    const last = offset + limit + 1
    const order = RolloutConditions.order(sql, filter)
    const matching = sql`
      select grp.id, row_number() over (order by ${order}) as place
      from grp left join batch on batch.id = grp.batch_id left join grp_figure as fig on fig.group_id = grp.id
      where ${RolloutConditions.conditions(sql, run, filter, values)} order by place`
    // The first page also counts: all matches are materialized once, and the page is taken from them.
    const candidates = phrases.length > 0 || isFirst ? matching : sql`${matching} limit ${last}`
    const withPhrases =
      phrases.length === 0
        ? sql`select id, place from matching`
        : // Groups one by one, in order, until there are enough.
          sql`select id, place from matching
            where (
              select bool_and(strpos(body, phrase) > 0)
              from grp_text cross join unnest(${Rows.array("text", phrases)}::text[]) as phrase where group_id = matching.id
            )
            limit case when ${isFirst} and (select count(*) <= ${maxRead} from matching) then null else ${last}::bigint end`
    // Before the search: groups indexed in between may be both found and counted here, but never neither.
    const unindexed = isFirst ? yield* index.unindexed(run.ids) : null
    const rows = yield* sql<BrowseRow & { readonly total: number; readonly is_counted: boolean }>`
      with matching as materialized (${candidates}),
        candidates as materialized (${withPhrases}),
        page as materialized (select id, place from candidates order by place limit ${limit + 1} offset ${offset})
      select ${columns}, (select count(*)::int from candidates) as total,
        ${phrases.length === 0} or (select count(*) <= ${maxRead} from matching) as is_counted
      from page join grp using (id) ${joined} order by page.place`
    const previews = yield* index.previews(rows.slice(0, limit).flatMap((row) => (row.is_unread ? [row.id] : [])))
    const page = rows.slice(0, limit).map((row) => ({
      ...toRow(row),
      preview: row.preview ?? previews.get(row.id) ?? null
    }))
    const hasMore = rows.length > limit
    const [first] = rows
    return {
      rows: page,
      next: !hasMore ? null : sort === undefined ? (page.at(-1)?.id ?? null) : String(offset + limit),
      // An empty result is counted, and so is one that fits on the page.
      total: !isFirst || first === undefined ? (isFirst ? 0 : null) : first.is_counted || !hasMore ? first.total : null,
      unindexed
    }
  }, Failure.orStoreError)

  const rollout: Browse["rollout"] = Effect.fn("RolloutReader.rollout")(function* (name, id) {
    const run = yield* names.idsOf(name)
    if (!isId(id)) return Option.none()
    const [row] = yield* sql<BrowseRow & Pick<Rows.GroupRow, "encoding" | "payload">>`
      select ${columns}, grp.encoding, grp.payload from grp ${joined}
      where grp.id = ${id}::bigint and ${RolloutConditions.within(sql, run)}`
    if (row === undefined) return Option.none()
    const here = yield* objects.bring(row)
    const payload = yield* Codec.decode({ encoding: here.encoding, bytes: here.payload })
    const trained = yield* logprobs.ofGroup(row.id, row.sequences)
    return Option.some({ ...toRow(row), payload, ...(trained && { trained }) })
  }, Failure.orStoreError)

  return { rollouts, rollout }
})
