/** Training runs, and their queues. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import * as Activity from "../../health/Activity.ts"
import * as ScoreAdvantage from "../../reward/ScoreAdvantage.ts"
import { admins, Authorization, describe, RequestErrors, Roles, trainers } from "./Access.ts"
import { bounds, int32, Name, positive, runParams, text, wire } from "./Fields.ts"
import { common, wire as errors } from "./TrajectoryApiError.ts"

/** The rule that converts scores to advantages. */
const advantages = Schema.NullOr(
  wire({
    loss: text,
    baseline: Schema.Literals(ScoreAdvantage.baselines),
    advantageScale: Schema.Literals(ScoreAdvantage.scales),
    isUsed: Schema.Boolean,
    computedBy: Schema.optionalKey(text)
  })
)

/** A trainer's announcement of a run. */
export const RunSpec = wire({
  name: Name,
  batchSize: positive(bounds.batchSize),
  maxTokenLength: positive(bounds.maxTokenLength),
  startingStep: Schema.Natural.check(Schema.isLessThanOrEqualTo(0x7fff_ffff)),
  numSteps: int32,
  checkpointDir: text,
  saveCheckpointInterval: int32,
  wandbGroup: text,
  wandbProject: text,
  advantages: Schema.optionalKey(advantages),
  /** Staleness in steps at which environments wait instead of starting rollouts; null or absent: they do not. */
  waitAtStaleness: Schema.optionalKey(Schema.NullOr(Schema.Natural.check(Schema.isLessThanOrEqualTo(0x7fff_ffff))))
})
export type RunSpec = typeof RunSpec.Type

const run = {
  name: Schema.String,
  batchSize: Schema.Int,
  maxTokenLength: Schema.Int,
  startingStep: Schema.Int,
  numSteps: Schema.Int,
  checkpointDir: Schema.String,
  saveCheckpointInterval: Schema.Int,
  wandbGroup: Schema.String,
  wandbProject: Schema.String,
  advantages,
  /** Absent from services of earlier versions, which hold no environment back. */
  waitAtStaleness: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  registered: Schema.Boolean,
  started: Schema.Boolean,
  currentStep: Schema.Int
}

export const Run = wire(run)
export type Run = typeof Run.Type

/** Progress of a run (`health/Activity`). */
export const RunActivity = wire({
  state: Schema.Literals(Activity.states),
  /** Seconds since the last progress. */
  idleSeconds: Schema.Finite,
  /** Why it stalled, or ended without being stopped. */
  reason: Schema.NullOr(Schema.String),
  environment: Schema.NullOr(Schema.String),
  /** The last error of each environment that had one. */
  errors: Schema.Array(wire({ environment: Schema.String, message: Schema.String }))
})

/**
 * A run in a list; a run that was reset, and whose name was not reused, is `ended` and read-only. `activity` is absent
 * from services of earlier versions, and beyond the first 100 runs.
 */
export const RunRow = wire({ ...run, ended: Schema.Boolean, activity: Schema.optionalKey(RunActivity) })
export type RunRow = typeof RunRow.Type

/** The run's queue; `stuck` lists groups that wait and cannot form a batch. */
export const QueueSummary = wire({
  currentStep: Schema.Int,
  queuedGroups: Schema.Int,
  queuedSequences: Schema.Int,
  queuedBytes: Schema.Finite,
  bufferedGroups: Schema.Int,
  formedBatches: Schema.Int,
  leasedBatches: Schema.Int,
  /** Sequences of environments that wait at a staleness bound; null if none does, absent from older services. */
  bound: Schema.optionalKey(
    Schema.NullOr(
      wire({
        /** Steps. */
        maxStaleness: Schema.Natural,
        /** Started and not queued, or permitted to start. */
        underWay: Schema.Int,
        /** Number that may still start. */
        startable: Schema.Natural
      })
    )
  ),
  stuck: Schema.Array(
    wire({
      envId: Schema.NullOr(Schema.Int),
      /** Its name; null if no environment is registered under this id. */
      environment: Schema.NullOr(Schema.String),
      sequences: Schema.Int,
      count: Schema.Int,
      reason: Schema.String,
      ageSeconds: Schema.Finite
    })
  )
})
export type QueueSummary = typeof QueueSummary.Type

export class RunsGroup extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.post("create", "/runs", { payload: RunSpec, success: Run, error: common })
      .annotate(Roles, trainers)
      .annotateMerge(
        describe(
          "Registers a run; an already registered one is returned, updating only `advantages`, `wait_at_staleness` and a larger `num_steps`."
        )
      ),
    HttpApiEndpoint.get("get", "/runs/:run", { params: runParams, success: Run, error: common }),
    HttpApiEndpoint.post("reset", "/runs/:run/reset", {
      params: runParams,
      success: HttpApiSchema.NoContent,
      error: common
    })
      .annotate(Roles, trainers)
      .annotateMerge(describe("Ends the run: discards its environments, queue and step; consumed rollouts remain.")),
    HttpApiEndpoint.delete("delete", "/runs/:run", {
      params: runParams,
      success: HttpApiSchema.NoContent,
      error: [...common, errors.RunInUse]
    })
      .annotate(Roles, admins)
      .annotateMerge(
        describe(
          "Deletes the run and ended runs of its name: rollouts, metrics, notes, evaluations, saved states. 409 if one of its batches " +
            "is leased, or an environment or metrics arrived within the last minute."
        )
      ),
    HttpApiEndpoint.get("summary", "/runs/:run/summary", {
      params: runParams,
      success: QueueSummary,
      error: common
    }),
    HttpApiEndpoint.get("events", "/runs/:run/events", {
      params: runParams,
      success: HttpApiSchema.StreamSse({ data: QueueSummary }),
      error: common
    }).annotateMerge(describe("The current summary and its changes, as server-sent events named `summary`."))
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
