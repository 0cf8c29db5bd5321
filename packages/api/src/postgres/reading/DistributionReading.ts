/** Computes histograms of scores, advantages and lengths over a run's steps in the database. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunNames } from "../base/RunNames.ts"
import * as RolloutValues from "./RolloutValues.ts"

export type DistributionReading = Pick<RolloutReaderShape, "distribution">

/** Max groups counted, the newest ones: takes tenths of a second. */
const maxGroups = 10_000
/** Max columns; above it several steps share one. */
const maxColumns = 120
const bins = 24

interface Cell {
  readonly low: number
  readonly high: number
  readonly groups: number
  readonly first: bigint
  readonly last: bigint
  readonly per: bigint
  readonly place: bigint
  readonly bin: number
  readonly count: number
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
    const values = yield* RolloutValues.of(sql, measure, latest)
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
        order by grp.id desc limit ${maxGroups}
      ),
      stored as materialized (select step, ${values} as vals from recent),
      vals as materialized (select step, val::float8 as val from stored cross join unnest(vals) as val),
      bounds as (
        select min(val) as low, max(val) as high, min(step) as first, max(step) as last,
          (max(step) - min(step)) / ${maxColumns} + 1 as per, (select count(*)::int from stored where vals is not null) as groups
        from vals
      ),
      -- Lower bounds of the bins, bit-identical to the viewer's, whose filters select groups by them.
      edges as (
        select array(select low + (n::float8 * (high - low)) / ${bins} from generate_series(0, ${bins - 1}) as n) as lower
        from bounds
      )
      select low, high, groups, first, last, per, (step - first) / per as place,
        case when high > low then width_bucket(val, lower) - 1 end as bin, count(*)::int as count
      from vals cross join bounds cross join edges group by low, high, groups, first, last, per, place, bin order by place`
    const [one] = cells
    if (one === undefined) return null
    const columns = new Map<bigint, Array<number>>()
    for (const { bin, count, place } of cells) {
      const counts = columns.get(place) ?? Array<number>(bins).fill(0)
      columns.set(place, counts)
      // If all values are equal, the bin is null.
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
