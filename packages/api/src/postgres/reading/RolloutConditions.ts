/** Builds SQL conditions and orders over `grp` for queries of stored groups. */
import type { Sort } from "@atropos/core/service/api/RolloutOrder"
import type { SqlClient } from "effect/sql"
import type { Fragment } from "effect/sql/Statement"
import type { RolloutFilter } from "../../store/RolloutReader.ts"
import type * as RolloutText from "../../rollout/RolloutText.ts"
import * as Rows from "../base/Rows.ts"
import type { RunIds } from "../base/RunNames.ts"

/** In Postgres syntax; words contain no characters that need escaping. */
const toTsquery = (query: RolloutText.Query): string =>
  query
    .flatMap(({ isWhole, words }) => words.map((word, i) => `'${word}'${isWhole || i < words.length - 1 ? "" : ":*"}`))
    .join(" & ")

/** The state of a group, over `grp` and its `batch`. */
export const state = `case
  when batch.acked_at is not null then 'consumed'
  when batch.lease_until is not null then 'leased'
  when batch.id is not null then 'formed'
  when grp.place is null then 'buffered'
  else 'queued'
end`

/** The prompt replaces a missing item id. */
const item = "coalesce(grp.item_id, fig.prompt)"

const best = "(select max(score) from unnest(grp.scores) as score)"

/** Sort and filter keys, over `grp`, its `batch` and its metrics `fig`. */
const keys: { readonly [S in Exclude<Sort, "component">]: string } = {
  mean: "grp.score_mean",
  best,
  disagreement: "(select max(score) - min(score) from unnest(grp.scores) as score)",
  deviation: "(select stddev_pop(score) from unnest(grp.scores) as score)",
  length: "coalesce(fig.length, grp.tokens::float8 / greatest(1, grp.sequences))",
  longest_best: "fig.longest_best",
  truncated: "fig.truncated",
  tool_errors: "fig.tool_errors",
  staleness: "batch.step - grp.policy_step",
  surprise: "fig.surprise",
  surprise_best: "fig.surprise_best",
  state: `array_position(array['buffered', 'queued', 'formed', 'leased', 'consumed'], ${state})`,
  item
}

const ofComponent = (sql: SqlClient.SqlClient, component: string): Fragment =>
  sql`(fig.components ->> ${component})::float8`

/** Inclusive bounds as given; unknown values match no bound. */
const bounded = (
  sql: SqlClient.SqlClient,
  key: Fragment,
  from: number | undefined,
  to: number | undefined
): ReadonlyArray<Fragment> => [
  ...(from === undefined ? [] : [sql`${key} >= ${from}::float8`]),
  ...(to === undefined ? [] : [sql`${key} <= ${to}::float8`])
]

/** All groups of the current run, and the consumed ones of the other runs. */
export const within = (sql: SqlClient.SqlClient, { current, ids }: RunIds): Fragment =>
  ids.length === 1 && current !== undefined
    ? sql`grp.run_id = ${current}`
    : sql`grp.run_id = any(${Rows.array("int4", ids)}::int[]) and (grp.run_id = ${current ?? -1} or grp.batch_id is not null)`

/** Groups with a rollout whose value, one of `values`, is within the bounds; none if the values are unknown. */
const withValue = (
  sql: SqlClient.SqlClient,
  { valueBelow, valueFrom, valueTo }: RolloutFilter,
  values: Fragment | undefined
): Fragment =>
  values === undefined
    ? sql`false`
    : sql`exists (select from unnest(${values}) as val where ${sql.and([
        sql`true`,
        ...(valueFrom === undefined ? [] : [sql`val::float8 >= ${valueFrom}::float8`]),
        ...(valueBelow === undefined ? [] : [sql`val::float8 < ${valueBelow}::float8`]),
        ...(valueTo === undefined ? [] : [sql`val::float8 <= ${valueTo}::float8`])
      ])})`

/** `values` are those named by the filter's `value`, if any (`RolloutValues`). */
export const conditions = (
  sql: SqlClient.SqlClient,
  run: RunIds,
  filter: RolloutFilter,
  values: Fragment | undefined
): Fragment => {
  const { before, component, componentFrom, componentTo, environment, stepFrom, stepTo, text } = filter
  const ids = Rows.array("int4", run.ids)
  // "is true" keeps these from becoming joins in a guessed order: few databases here have been analyzed.
  const hasStep = stepFrom !== undefined || stepTo !== undefined
  const by = (key: keyof typeof keys, from: number | undefined, to: number | undefined) =>
    bounded(sql, sql`(${sql.literal(keys[key])})`, from, to)
  return sql.and([
    // A batch only has groups of one run.
    hasStep
      ? sql`grp.batch_id in (
          select id from batch
          where run_id = any(${ids}::int[]) and step between ${stepFrom ?? 0} and ${stepTo ?? Number.MAX_SAFE_INTEGER}
        )`
      : within(sql, run),
    ...(text === undefined ? [] : [sql`(grp.id in (select groups_with_words(${toTsquery(text)}::tsquery))) is true`]),
    ...(environment === undefined
      ? []
      : [
          sql`((grp.run_id, grp.env_id) in (
            select run_id, env_id from env where run_id = any(${ids}::int[]) and name = ${environment}
          )) is true`
        ]),
    ...by("mean", filter.scoreFrom, filter.scoreTo),
    ...by("best", filter.bestFrom, filter.bestTo),
    ...by("disagreement", filter.disagreementFrom, filter.disagreementTo),
    ...by("deviation", filter.deviationFrom, filter.deviationTo),
    ...by("length", filter.lengthFrom, filter.lengthTo),
    ...by("staleness", filter.stalenessFrom, filter.stalenessTo),
    ...(filter.state === undefined ? [] : [sql`${sql.literal(state)} = ${filter.state}`]),
    ...(filter.item === undefined ? [] : [sql`(grp.item_id = ${filter.item} or fig.prompt = ${filter.item})`]),
    ...(filter.value === undefined ? [] : [withValue(sql, filter, values)]),
    ...(filter.truncated === undefined ? [] : [sql`fig.truncated > 0`]),
    ...(filter.toolErrors === undefined ? [] : [sql`fig.tool_errors > 0`]),
    ...(component === undefined ? [] : bounded(sql, ofComponent(sql, component), componentFrom, componentTo)),
    ...(filter.newlySolved === undefined
      ? []
      : [
          sql`grp.id in (
            select id from (
              select grp.id, ${sql.literal(best)} as best,
                max(${sql.literal(best)}) over (
                  partition by grp.run_id, grp.env_id, ${sql.literal(item)} order by grp.id
                  rows between unbounded preceding and 1 preceding
                ) as before
              from grp left join grp_figure as fig on fig.group_id = grp.id
              where ${sql.literal(item)} is not null and ${within(sql, run)}
            ) as tried where best > 0 and before <= 0
          )`
        ]),
    // In other orders rows are skipped by count rather than compared.
    ...(before === undefined || filter.sort !== undefined ? [] : [sql`grp.id < ${before}::bigint`])
  ])
}

/** Newest first by default, and among equals. */
export const order = (sql: SqlClient.SqlClient, { component, order, sort }: RolloutFilter): Fragment => {
  if (sort === undefined || (sort === "component" && component === undefined)) return sql.literal("grp.id desc")
  const key = sort === "component" ? ofComponent(sql, component ?? "") : sql`${sql.literal(keys[sort])}`
  return sql`${key} ${sql.literal(order === "ascending" ? "asc" : "desc")} nulls last, grp.id desc`
}
