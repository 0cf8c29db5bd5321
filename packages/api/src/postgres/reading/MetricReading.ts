/** Reads the metrics of a run, existing and future rows. */
import type { TrajectoryApi } from "@atropos/core"
import * as Readings from "@atropos/core/service/Readings"
import { Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import { type Notifications, metricsOf } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunNames } from "../base/RunNames.ts"

export type MetricReading = Pick<RolloutReaderShape, "metrics" | "metricsToCome">

const rowsAtOnce = 500

interface MetricRow {
  readonly id: bigint
  readonly source: string
  readonly step: bigint
  readonly recorded_at: Date
  readonly readings: { readonly [name: string]: number | string }
}

const toMetrics = ({ id, readings, recorded_at, source, step }: MetricRow): TrajectoryApi.MetricsRow => ({
  id: String(id),
  source,
  step: Rows.toInt(step),
  at: recorded_at.getTime(),
  values: Readings.decode(readings).values
})

export const make = Effect.fnUntraced(function* (
  names: RunNames,
  notifications: Notifications
): Effect.fn.Return<MetricReading, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const metricsAfter = (run: number, after: string | undefined, limit: number, more = sql``) => sql<MetricRow>`
    select id, source, step, recorded_at, readings from metric
    where run_id = ${run} ${after === undefined ? sql`` : sql`and id > ${after}::bigint`} ${more}
    order by id limit ${limit}`

  const metrics: MetricReading["metrics"] = Effect.fn("RolloutReader.metrics")(function* (run, filter) {
    const { after, fromStep, limit, source } = filter
    const { latest } = yield* names.idsOf(run)
    const page = yield* metricsAfter(
      latest,
      after,
      limit + 1,
      sql`${source === undefined ? sql`` : sql`and source = ${source}`} ${fromStep === undefined ? sql`` : sql`and step >= ${fromStep}`}`
    )
    const rows = page.slice(0, limit).map(toMetrics)
    return { metrics: rows, next: page.length > limit ? (rows.at(-1)?.id ?? null) : null }
  }, Failure.orStoreError)

  const metricsToCome: MetricReading["metricsToCome"] = Effect.fn("RolloutReader.metricsToCome")(function* (
    run,
    after
  ) {
    // Subscribes before reading the last row, so that rows in between are not missed.
    const notices = notifications.stream(metricsOf(run))
    const { latest } = yield* names.idsOf(run)
    const [newest] =
      after === undefined
        ? yield* sql<{ id: bigint | null }>`select max(id) as id from metric where run_id = ${latest}`
        : []
    return Stream.suspend(() => {
      let last = after ?? String(newest?.id ?? 0)
      const page = Effect.gen(function* () {
        const { latest } = yield* names.idsOf(run)
        const rows = (yield* metricsAfter(latest, last, rowsAtOnce)).map(toMetrics)
        last = rows.at(-1)?.id ?? last
        return [rows, rows.length < rowsAtOnce ? Option.none<void>() : Option.some<void>(undefined)] as const
      }).pipe(
        Effect.catchTag("UnknownRun", () => Effect.succeed([[], Option.none<void>()] as const)),
        Failure.orStoreError
      )
      return Stream.make(undefined).pipe(
        Stream.merge(notices),
        Stream.buffer({ capacity: 1, strategy: "sliding" }),
        Stream.flatMap(() =>
          Stream.paginate(undefined, () => Effect.map(page, ([rows, next]) => [[rows], next] as const))
        ),
        Stream.filter((rows) => rows.length > 0)
      )
    })
  }, Failure.orStoreError)

  return { metrics, metricsToCome }
})
