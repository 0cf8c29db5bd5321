/** Endpoints for the viewer: everything it needs except a run's summary. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, packed, RequestErrors } from "./Access.ts"
import { BatchRow } from "./Batches.ts"
import { Distribution, DistributionQuery } from "./Distributions.ts"
import { EnvironmentRow } from "./Environments.ts"
import { rowParams, runParams } from "./Fields.ts"
import { Pieces, PiecesQuery } from "./Groups.ts"
import { MetricsEventsQuery, MetricsPage, MetricsQuery, MetricsRow } from "./Metrics.ts"
import { Rollout, RolloutPage, RolloutQuery } from "./Rollouts.ts"
import { SourceSettingsRow } from "./RunSettings.ts"
import { RunRow } from "./Runs.ts"
import { common } from "./TrajectoryApiError.ts"

/**
 * Runs, rollouts, metrics, environments and batches, including those of ended runs. Anything that implements these
 * endpoints, and a run's summary, can be viewed.
 */
export class ReadingGroup extends HttpApiGroup.make("reading")
  .add(
    HttpApiEndpoint.get("runs", "/runs", {
      success: Schema.Struct({ runs: Schema.Array(RunRow) }),
      error: common
    }),
    HttpApiEndpoint.get("rollouts", "/runs/:run/rollouts", {
      params: runParams,
      query: RolloutQuery,
      success: RolloutPage,
      error: common
    }).annotateMerge(
      describe(
        "Stored groups, newest first. `text`: words that must all occur in a group's messages, as prefixes of words; quotes mark " +
          "a phrase of whole words."
      )
    ),
    HttpApiEndpoint.get("rollout", "/runs/:run/rollouts/:id", {
      params: rowParams,
      success: [Rollout, packed],
      error: common
    }),
    HttpApiEndpoint.get("pieces", "/runs/:run/pieces", {
      params: runParams,
      query: PiecesQuery,
      success: Pieces,
      error: common
    }).annotateMerge(describe("Texts of token ids, as reported by environments; unknown ids are omitted.")),
    HttpApiEndpoint.get("metrics", "/runs/:run/metrics", {
      params: runParams,
      query: MetricsQuery,
      success: MetricsPage,
      error: common
    }),
    HttpApiEndpoint.get("metricsEvents", "/runs/:run/metrics/events", {
      params: runParams,
      query: MetricsEventsQuery,
      success: HttpApiSchema.StreamSse({ data: Schema.Array(MetricsRow) }),
      error: common
    }).annotateMerge(
      describe(
        "New rows of metrics, as server-sent events named `metrics`, each an array of rows with the id of its last one. " +
          "They start after the row of `after` or of the header Last-Event-ID, otherwise with the next new row."
      )
    ),
    HttpApiEndpoint.get("environments", "/runs/:run/environments", {
      params: runParams,
      success: Schema.Struct({ environments: Schema.Array(EnvironmentRow) }),
      error: common
    }),
    HttpApiEndpoint.get("batches", "/runs/:run/batches", {
      params: runParams,
      success: Schema.Struct({ batches: Schema.Array(BatchRow) }),
      error: common
    }).annotateMerge(describe("The newest 100 batches, newest first.")),
    HttpApiEndpoint.get("distribution", "/runs/:run/distribution", {
      params: runParams,
      query: DistributionQuery,
      success: Schema.NullOr(Distribution),
      error: common
    }).annotateMerge(
      describe(
        "Histograms of scores, advantages or lengths by step, of the newest 10,000 groups in batches; null if none, " +
          "and for advantages that cannot be derived from groups alone."
      )
    ),
    HttpApiEndpoint.get("settings", "/runs/:run/settings", {
      params: runParams,
      success: Schema.Struct({ sources: Schema.Array(SourceSettingsRow) }),
      error: common
    }).annotateMerge(
      describe("The settings at start: of the trainer first, then of the environments, at most 200, newest first.")
    )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
