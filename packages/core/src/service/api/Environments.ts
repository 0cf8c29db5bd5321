/** Environments of a run: their registrations, reports, view of the queue, and saved state. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, environments, RequestErrors, Roles } from "./Access.ts"
import { bounds, environmentParams, Name, positive, runParams, text, wire } from "./Fields.ts"
import { common } from "./TrajectoryApiError.ts"

/** An environment's registration request. */
export const EnvironmentSpec = wire({
  desiredName: Name,
  weight: Schema.Finite.check(Schema.isBetween({ minimum: -bounds.weight, maximum: bounds.weight })),
  groupSize: positive(bounds.groupSize),
  maxTokenLength: positive(bounds.maxTokenLength),
  minBatchAllocation: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
})
export type EnvironmentSpec = typeof EnvironmentSpec.Type

const registration = {
  envId: Schema.Int,
  /** The unique name assigned by the service: desired name, underscore, number. */
  name: Schema.String,
  startingStep: Schema.Int,
  numSteps: Schema.Int,
  checkpointDir: Schema.String,
  checkpointInterval: Schema.Int
}

export const Registration = wire(registration)
export type Registration = typeof Registration.Type

/** The registration, or `waiting` if no trainer has started yet. */
export const RegistrationAnswer = Schema.Union([
  wire({ status: Schema.Literal("registered"), ...registration }),
  wire({ status: Schema.Literal("waiting") })
])
export type RegistrationAnswer = typeof RegistrationAnswer.Type

/** An inference server as seen by an environment: latencies in seconds, null before the first answer. */
export const ServerReport = wire({
  server: text,
  split: Schema.Literals(["train", "eval"]),
  healthy: Schema.Boolean,
  inFlight: Schema.Natural,
  /** Max requests in flight now; absent if unlimited, or from older environments. */
  limit: Schema.optionalKey(Schema.Natural),
  latencyMean: Schema.NullOr(Schema.Finite),
  latencyP95: Schema.NullOr(Schema.Finite),
  tokensPerSecond: Schema.NullOr(Schema.Finite),
  failures: Schema.Natural
})
export type ServerReport = typeof ServerReport.Type

const report = {
  running: Schema.Natural,
  /** Groups the service has not answered for. */
  unsent: Schema.Natural,
  itemsPerMinute: Schema.Finite,
  /** Failed rollouts since the environment started. */
  failures: Schema.Natural,
  /** `at` in milliseconds since the epoch. */
  lastError: Schema.NullOr(wire({ at: Schema.Finite, message: text })),
  servers: Schema.Array(ServerReport).check(Schema.isMaxLength(1024))
}

/** An environment's periodic status report, for the viewer. */
export const EnvironmentReport = wire(report)
export type EnvironmentReport = typeof EnvironmentReport.Type

/** A registered environment, with its last report and the service's statistics of it. */
export const EnvironmentRow = wire({
  /** 0, 1, … within the run, in order of registration. */
  envId: Schema.Int,
  /** Desired name, underscore, number of earlier ones of that name. */
  name: Schema.String,
  desiredName: Schema.String,
  weight: Schema.Finite,
  groupSize: Schema.Int,
  maxTokenLength: Schema.Int,
  minBatchAllocation: Schema.NullOr(Schema.Finite),
  connected: Schema.Boolean,
  /** Milliseconds since the epoch. */
  lastSeen: Schema.Finite,
  /** Null before the first; `at` is when it was received. */
  report: Schema.NullOr(wire({ at: Schema.Finite, ...report })),
  /** Its share of the sequences of the last 20 batches; null without any. */
  share: Schema.NullOr(Schema.Finite),
  /** Sequences received in the last minute. */
  rolloutsPerMinute: Schema.Finite
})
export type EnvironmentRow = typeof EnvironmentRow.Type

/** The queue as seen by one environment. Sizes are in groups of this environment's size. */
export const EnvironmentStatus = wire({
  /** Step of the newest batch; the run's starting step before the first. */
  currentStep: Schema.Int,
  queueSize: Schema.Int,
  selfQueueSize: Schema.Int,
  maxGroupSize: Schema.Int,
  envWeight: Schema.Finite,
  /** Share of a batch that no environment has reserved. */
  unallocatedFraction: Schema.Finite,
  /**
   * Sequences that may be started before the run's staleness bound is reached, if no other environment asks first;
   * absent if its environments do not wait.
   */
  startable: Schema.optionalKey(Schema.Natural)
})
export type EnvironmentStatus = typeof EnvironmentStatus.Type

/** Max groups in one count. */
const groups = Schema.Natural.check(Schema.isLessThanOrEqualTo(bounds.batchSize))

/** An environment's rollouts in progress, and how many more groups it wants to start. */
export const Begin = wire({
  /** Groups started that the service has not answered for, including those already permitted. */
  underWay: groups,
  more: groups
})
export type Begin = typeof Begin.Type

/** A permit to start rollouts. */
export const Begun = wire({
  /** Number of groups that it may start; they then count as in progress. */
  granted: Schema.Natural,
  /** Policy version that samplers must have for them; absent if the trainer has not reported one. */
  policyVersion: Schema.optionalKey(Schema.Natural)
})
export type Begun = typeof Begun.Type

/** An environment's cursor and its own state, stored by the service under the environment's name. */
export const SavedState = wire({ step: Schema.Int, value: Schema.Unknown })
export type SavedState = typeof SavedState.Type

export class EnvironmentsGroup extends HttpApiGroup.make("environments")
  .add(
    HttpApiEndpoint.post("register", "/runs/:run/environments", {
      params: runParams,
      payload: EnvironmentSpec,
      success: RegistrationAnswer,
      error: common
    })
      .annotate(Roles, environments)
      .annotateMerge(describe("Answers `waiting` until a trainer has requested a batch: retry.")),
    HttpApiEndpoint.post("disconnect", "/runs/:run/environments/:envId/disconnect", {
      params: environmentParams,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotate(Roles, environments),
    HttpApiEndpoint.get("status", "/runs/:run/environments/:envId/status", {
      params: environmentParams,
      success: EnvironmentStatus,
      error: common
    }),
    HttpApiEndpoint.get("events", "/runs/:run/environments/:envId/events", {
      params: environmentParams,
      success: HttpApiSchema.StreamSse({ data: EnvironmentStatus }),
      error: common
    }).annotateMerge(describe("The current status and its changes, as server-sent events named `status`.")),
    HttpApiEndpoint.post("begin", "/runs/:run/environments/:envId/begin", {
      params: environmentParams,
      payload: Begin,
      success: Begun,
      error: common
    })
      .annotate(Roles, environments)
      .annotateMerge(
        describe(
          "Requests permits to start rollouts if environments wait at a staleness bound; grants all of `more` otherwise. " +
            "Replaces the previous report. An environment that is silent for 30 seconds counts as having none in progress."
        )
      ),
    HttpApiEndpoint.post("report", "/runs/:run/environments/:envId/report", {
      params: environmentParams,
      payload: EnvironmentReport,
      success: HttpApiSchema.NoContent,
      error: common
    })
      .annotate(Roles, environments)
      .annotateMerge(describe("A status report of the environment; only the latest one is stored.")),
    HttpApiEndpoint.get("loadState", "/runs/:run/state/:environment", {
      params: { run: Name, environment: Name },
      success: SavedState,
      error: common
    }).annotate(Roles, environments),
    HttpApiEndpoint.put("saveState", "/runs/:run/state/:environment", {
      params: { run: Name, environment: Name },
      payload: SavedState,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotate(Roles, environments)
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
