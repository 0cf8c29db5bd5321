/** Endpoints for metrics of steps. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, RequestErrors, Roles } from "./Access.ts"
import { Name, positive, rowId, runParams, wire } from "./Fields.ts"
import { SourceSettings } from "./RunSettings.ts"
import { common } from "./TrajectoryApiError.ts"

/** Metrics of a step, from an environment or the trainer; `metrics/Readings` validates each value separately. */
export const Metrics = wire({
  source: Name,
  step: Schema.Int,
  values: Schema.Record(Schema.String, Schema.Json).check(Schema.isMaxProperties(1000))
})
export type Metrics = typeof Metrics.Type

/** Rejected values by name, with the reason; the others of their row are kept. */
export const MetricsLeftOut = wire({ leftOut: Schema.Record(Schema.String, Schema.String) })
export type MetricsLeftOut = typeof MetricsLeftOut.Type

/** Stored metrics, `at` in milliseconds since the epoch. */
export const MetricsRow = wire({
  id: Schema.String,
  source: Schema.String,
  step: Schema.Int,
  at: Schema.Finite,
  // NaN and infinities as strings, because JSON cannot represent them.
  values: Schema.Record(Schema.String, Schema.Number)
})
export type MetricsRow = typeof MetricsRow.Type

/** A page of metrics, oldest first; `next` is the `after` of the next page, null at the end. */
export const MetricsPage = wire({ metrics: Schema.Array(MetricsRow), next: Schema.NullOr(Schema.String) })
export type MetricsPage = typeof MetricsPage.Type

export const MetricsQuery = wire({
  after: Schema.optionalKey(rowId("a row of metrics")),
  source: Schema.optionalKey(Schema.String),
  fromStep: Schema.optionalKey(Schema.Int),
  limit: Schema.optionalKey(positive(10_000))
})
export type MetricsQuery = typeof MetricsQuery.Type

/** Start of the metrics stream: after a row, or from now on. */
export const MetricsEventsQuery = wire({ after: Schema.optionalKey(rowId("a row of metrics")) })
export type MetricsEventsQuery = typeof MetricsEventsQuery.Type

export class MetricsGroup extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.post("record", "/runs/:run/metrics", {
      params: runParams,
      payload: Metrics,
      success: [MetricsLeftOut, HttpApiSchema.NoContent],
      error: common
    })
      .annotate(Roles, ["environment", "trainer"])
      .annotateMerge(
        describe(
          'Values are numbers, or "NaN", "Infinity", "-Infinity". Others are dropped and named in the answer (200); the ' +
            "rest is stored."
        )
      ),
    HttpApiEndpoint.post("recordSettings", "/runs/:run/settings", {
      params: runParams,
      payload: SourceSettings,
      success: HttpApiSchema.NoContent,
      error: common
    })
      .annotate(Roles, ["environment", "trainer"])
      .annotateMerge(
        describe(
          "The settings of a trainer or an environment at start; the latest of a source counts. Secrets are removed."
        )
      )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
