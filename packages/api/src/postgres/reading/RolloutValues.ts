/** Builds SQL expressions for per-rollout values of a group: scores, advantages, lengths. */
import type { TrajectoryApi } from "@atropos/core"
import * as ScoreAdvantage from "@atropos/core/reward/ScoreAdvantage"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import * as Rows from "../base/Rows.ts"

type Measure = TrajectoryApi.DistributionQuery["measure"]

/** The original's trainers do not announce their rule; this is the original's. */
const defaults: ScoreAdvantage.Rule = { baseline: "group", advantageScale: "population-std" }

/**
 * The values of a group as an array, over its columns `scores` and `lengths`. `ScoreAdvantage.ofScores` defines
 * advantages, and a test checks that both agree. Undefined if a single group does not determine them.
 */
const expressionOf = (
  sql: SqlClient.SqlClient,
  measure: Measure,
  recipe: TrajectoryApi.Run["advantages"]
): Fragment | undefined => {
  if (measure === "score") return sql.literal("scores")
  if (measure === "length") return sql.literal("lengths")
  const { advantageScale, baseline } = recipe ?? defaults
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

/** The equivalent by the rule of a run. */
export const of = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  measure: Measure,
  run: number
): Effect.fn.Return<Fragment | undefined, SqlError> {
  if (measure !== "advantage") return expressionOf(sql, measure, null)
  const [found] = yield* sql<{ run: Rows.RunJson }>`select to_json(run) as run from run where id = ${run}`
  return expressionOf(sql, measure, found === undefined ? null : Rows.toRun(found.run).advantages)
})
