/** How scores, advantages and lengths are spread over the steps of a run, counted by the database. */
import type { TrajectoryApi } from "@atropos/core"
import * as ScoreAdvantage from "@atropos/core/ScoreAdvantage"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Fragment } from "effect/sql/Statement"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunNames } from "../base/RunNames.ts"

export type DistributionReading = Pick<RolloutReaderShape, "distribution">

/** Of more groups the newest are counted: in tenths of a second. */
const mostGroups = 10_000
/** Several steps share a column where there are more. */
const mostColumns = 120
const bins = 24

interface Cell {
  readonly low: number
  readonly high: number
  readonly groups: number
  readonly first: bigint
  readonly last: bigint
  /** Steps of a column. */
  readonly per: bigint
  readonly place: bigint
  readonly bin: number
  readonly count: number
}

/** The original's trainers do not tell their rule: it is that of the original. */
const usual: ScoreAdvantage.Rule = { baseline: "group", advantageScale: "population-std" }

/**
 * The values of a group, as an array of a row of `recent`; `ScoreAdvantage.ofScores` says what advantages are, and a
 * test holds both equal. Undefined where a group alone does not tell them.
 */
const valuesOf = (
  sql: SqlClient.SqlClient,
  measure: TrajectoryApi.DistributionQuery["measure"],
  recipe: TrajectoryApi.Run["advantages"]
): Fragment | undefined => {
  if (measure === "score") return sql.literal("scores")
  if (measure === "length") return sql.literal("lengths")
  const { advantageScale, baseline } = recipe ?? usual
  const isTold = recipe === null || (recipe.isUsed && recipe.computedBy === undefined)
  if (!isTold || ScoreAdvantage.needsBatch({ advantageScale, baseline })) return undefined
  if (baseline === "none") return sql.literal("scores")
  const divisor = {
    "sample-std": "coalesce(stddev_samp(score), 0) + 1e-4",
    "population-std": "stddev_pop(score) + 1e-8",
    "batch-std": "1",
    none: "1"
  }[advantageScale]
  const share = baseline === "leave-one-out" ? "count(*)::float8 / greatest(1, count(*) - 1)" : "1"
  return sql.literal(`(
    select case
      when cardinality(scores) = 1 then scores
      when most - least <= 1e-6 * greatest(abs(least), abs(most)) then array_fill(0::float8, array[cardinality(scores)])
      else array(select (score - mean) / divisor * share from unnest(scores) as score)
    end
    from (
      select min(score) as least, max(score) as most, avg(score) as mean, ${divisor} as divisor, ${share} as share
      from unnest(scores) as score
    ) as of_group
  )`)
}

export const make = Effect.fnUntraced(function* (
  names: RunNames
): Effect.fn.Return<DistributionReading, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const distribution: DistributionReading["distribution"] = Effect.fn("RolloutReader.distribution")(function* (
    name,
    { environment, measure }
  ) {
    const { latest } = yield* names.idsOf(name)
    const [found] = yield* sql<{ run: Rows.RunJson }>`select to_json(run) as run from run where id = ${latest}`
    const values = valuesOf(sql, measure, found === undefined ? null : Rows.toRun(found.run).advantages)
    if (values === undefined) return null
    const ofEnvironment =
      environment === undefined
        ? sql``
        : sql`and grp.env_id in (select env_id from env where run_id = ${latest} and name = ${environment})`
    const cells = yield* sql<Cell>`
      with recent as materialized (
        select grp.scores, fig.lengths, batch.step
        from grp join batch on batch.id = grp.batch_id left join grp_figure as fig on fig.group_id = grp.id
        where grp.run_id = ${latest} ${ofEnvironment}
        order by grp.id desc limit ${mostGroups}
      ),
      told as materialized (select step, ${values} as vals from recent),
      vals as materialized (select step, val::float8 as val from told cross join unnest(vals) as val),
      bounds as (
        select min(val) as low, max(val) as high, min(step) as first, max(step) as last,
          (max(step) - min(step)) / ${mostColumns} + 1 as per, (select count(*)::int from told where vals is not null) as groups
        from vals
      )
      select low, high, groups, first, last, per, (step - first) / per as place,
        least(${bins - 1}, floor((val - low) / nullif(high - low, 0) * ${bins}))::int as bin, count(*)::int as count
      from vals cross join bounds group by low, high, groups, first, last, per, place, bin order by place`
    const [one] = cells
    if (one === undefined) return null
    const columns = new Map<bigint, Array<number>>()
    for (const { bin, count, place } of cells) {
      const counts = columns.get(place) ?? Array<number>(bins).fill(0)
      columns.set(place, counts)
      // Where all values are equal there is nothing to divide by.
      counts[bin ?? 0]! += count
    }
    const { first, groups, high, last, low, per } = one
    return {
      low,
      high,
      bins,
      groups,
      columns: [...columns].map(([place, counts]) => {
        const from = first + place * per
        const to = from + per - 1n
        return { from: Rows.toInt(from), to: Rows.toInt(to < last ? to : last), counts }
      })
    }
  }, Failure.orStoreError)

  return { distribution }
})
