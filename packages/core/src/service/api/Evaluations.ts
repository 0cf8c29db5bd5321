/** Evaluations: their metrics and samples, and the endpoints to record them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, RequestErrors, Roles } from "./Access.ts"
import { Name, positive, rowId, text, wire } from "./Fields.ts"
import { common } from "./TrajectoryApiError.ts"

const head = {
  /** The run whose policy was evaluated; null: none of this service. */
  run: Schema.NullOr(Name),
  /** The environment or suite. */
  name: Schema.NonEmptyString.check(Schema.isMaxLength(256)),
  model: text,
  /** The step of the run's trainer; 0 before the first. */
  step: Schema.NullOr(Schema.Int),
  seconds: Schema.Finite,
  /** By the names of `docs/metrics.md` (`eval/…`). */
  figures: Schema.Record(Schema.String, Schema.Finite).check(Schema.isMaxProperties(1000)),
  samples: Schema.Natural
}

/** An announced evaluation; a second one under the same key has no effect. */
export const EvaluationSpec = wire({ key: Schema.String.check(Schema.isUUID()), ...head })
export type EvaluationSpec = typeof EvaluationSpec.Type

/** An evaluation in a list; `stored` is the number of stored samples. */
export const EvaluationRow = wire({ id: Schema.String, at: Schema.Finite, stored: Schema.Natural, ...head })
export type EvaluationRow = typeof EvaluationRow.Type

/** Newest first; `next` is the `before` of the next page. */
export const EvaluationPage = wire({
  evaluations: Schema.Array(EvaluationRow),
  next: Schema.NullOr(Schema.String)
})
export type EvaluationPage = typeof EvaluationPage.Type

export const EvaluationsQuery = wire({
  run: Schema.optionalKey(Name),
  before: Schema.optionalKey(rowId("an evaluation")),
  limit: Schema.optionalKey(positive(1000))
})
export type EvaluationsQuery = typeof EvaluationsQuery.Type

/** The summary of a sample in lists and comparisons (`evaluation/SampleHead`). */
export const EvaluationSampleRow = wire({
  /** Index among the samples, from 0. */
  number: Schema.Natural,
  label: Schema.String,
  item: Schema.String,
  category: Schema.NullOr(Schema.String),
  gold: Schema.Array(Schema.String),
  parsed: Schema.optionalKey(Schema.NullOr(Schema.String)),
  ending: Schema.String,
  score: Schema.Finite,
  rewards: Schema.Record(Schema.String, Schema.Finite),
  correct: Schema.optionalKey(Schema.Boolean),
  tokens: Schema.NullOr(Schema.Finite),
  isCut: Schema.Boolean
})
export type EvaluationSampleRow = typeof EvaluationSampleRow.Type

/** In order; `next` is the `from` of the next page. */
export const EvaluationSamplePage = wire({
  samples: Schema.Array(EvaluationSampleRow),
  next: Schema.NullOr(Schema.Int)
})
export type EvaluationSamplePage = typeof EvaluationSamplePage.Type

export const EvaluationSamplesQuery = wire({
  from: Schema.optionalKey(Schema.Natural),
  limit: Schema.optionalKey(positive(2000))
})

/** Samples from this number on; existing ones are kept. */
export const EvaluationSamples = wire({
  from: Schema.Natural,
  samples: Schema.Array(Schema.Unknown).check(Schema.isMaxLength(1000))
})

const params = { id: rowId("an evaluation") }

export class EvaluationReadingGroup extends HttpApiGroup.make("evaluationReading")
  .add(
    HttpApiEndpoint.get("list", "/evaluations", { query: EvaluationsQuery, success: EvaluationPage, error: common }),
    HttpApiEndpoint.get("get", "/evaluations/:id", { params, success: EvaluationRow, error: common }),
    HttpApiEndpoint.get("samples", "/evaluations/:id/samples", {
      params,
      query: EvaluationSamplesQuery,
      success: EvaluationSamplePage,
      error: common
    }).annotateMerge(describe("Samples without their chats, with long texts truncated.")),
    HttpApiEndpoint.get("sample", "/evaluations/:id/samples/:number", {
      params: { ...params, number: Schema.String.check(Schema.isPattern(/^\d{1,9}$/)) },
      success: Schema.Struct({ sample: Schema.Unknown }),
      error: common
    }).annotateMerge(describe("A complete sample, as a line of samples.jsonl."))
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

export class EvaluationsGroup extends HttpApiGroup.make("evaluations")
  .add(
    HttpApiEndpoint.post("record", "/evaluations", {
      payload: EvaluationSpec,
      success: EvaluationRow,
      error: common
    }).annotateMerge(describe("Announces an evaluation. A key is stored once.")),
    HttpApiEndpoint.post("recordSamples", "/evaluations/:id/samples", {
      params,
      payload: EvaluationSamples,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotateMerge(
      describe(
        "Samples, each as a line of samples.jsonl: with `item`, `score`, `correct` if known, and any other fields."
      )
    )
  )
  .annotateEndpoints(Roles, ["environment", "trainer"])
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
