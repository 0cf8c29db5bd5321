/**
 * The versioned endpoints of the trajectory service, as a definition: paths, bodies, answers, errors, and the role each
 * one needs.
 *
 * It lives apart from its handlers (`@atropos/api`), so that environments and trainers talk to a service without
 * importing one. Groups travel as raw bytes: `application/vnd.atropos.group` (`PackedGroup`) or the original's JSON;
 * handlers and clients read them outside of any schema. Documented in docs/protocol.md.
 */
import { Context, Schema } from "effect"
import {
  HttpApi,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSchema,
  HttpApiSecurity,
  OpenApi
} from "effect/http-api"
import { common, wire } from "./TrajectoryApiError.ts"
import * as Wire from "./TrajectoryApiSchema.ts"

/** Who may call: `admin` stands for all of them, and environments and trainers may read what readers may. */
export const Role = Schema.Literals(["environment", "trainer", "reader", "admin"])
export type Role = typeof Role.Type

/** The roles an endpoint is for (`admin` is always among them). */
export const Roles = Context.Reference<ReadonlyArray<Role>>("@atropos/core/TrajectoryApi/Roles", {
  defaultValue: () => ["environment", "trainer", "reader"]
})

/** Checks the bearer token against the roles of the endpoint. */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()(
  "@atropos/core/TrajectoryApi/Authorization",
  { error: [wire.Unauthorized, wire.Forbidden], security: { bearer: HttpApiSecurity.bearer } }
) {}

/** Says of a malformed request which field was wrong, in the service's own error form. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()(
  "@atropos/core/TrajectoryApi/RequestErrors",
  { error: [wire.BadRequest, wire.Invalid, wire.Internal] }
) {}

const packed = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: Wire.packedContentType }))
const run = { run: Wire.Name }
const environment = { run: Wire.Name, envId: Schema.Natural }
const batch = {
  run: Wire.Name,
  id: Schema.String.check(Schema.isPattern(/^\d{1,19}$/, { message: "an id of a batch" }))
}
const describe = (description: string) => OpenApi.annotations({ description })
const environments: ReadonlyArray<Role> = ["environment"]
const trainers: ReadonlyArray<Role> = ["trainer"]

/** Whether the service lives, and whether its database answers. No token needed. */
export class HealthGroup extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Wire.Health }).annotateMerge(
      describe("Answers as long as the process does.")
    ),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Wire.Health, error: common }).annotateMerge(
      describe("Answers 200 when the database does.")
    )
  )
  .prefix("/v1") {}

/** Training runs. */
export class RunsGroup extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.post("create", "/runs", { payload: Wire.RunSpec, success: Wire.Run, error: common })
      .annotate(Roles, trainers)
      .annotateMerge(describe("Registers a run; where it is registered already, answers with it unchanged.")),
    HttpApiEndpoint.get("get", "/runs/:run", { params: run, success: Wire.Run, error: common }),
    HttpApiEndpoint.post("reset", "/runs/:run/reset", {
      params: run,
      success: HttpApiSchema.NoContent,
      error: common
    })
      .annotate(Roles, trainers)
      .annotateMerge(describe("Ends the run: environments, queue and step are gone; consumed rollouts stay.")),
    HttpApiEndpoint.get("summary", "/runs/:run/summary", {
      params: run,
      success: Wire.QueueSummary,
      error: common
    }),
    HttpApiEndpoint.get("events", "/runs/:run/events", {
      params: run,
      success: HttpApiSchema.StreamSse({ data: Wire.QueueSummary }),
      error: common
    }).annotateMerge(describe("The summary now and whenever it changes, as server-sent events named `summary`."))
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

/** The environments of a run, their view of its queue, and their saved state. */
export class EnvironmentsGroup extends HttpApiGroup.make("environments")
  .add(
    HttpApiEndpoint.post("register", "/runs/:run/environments", {
      params: run,
      payload: Wire.EnvironmentSpec,
      success: Wire.Registration,
      error: common
    })
      .annotate(Roles, environments)
      .annotateMerge(describe("Answers `waiting` until a trainer has asked for a batch: ask again.")),
    HttpApiEndpoint.post("disconnect", "/runs/:run/environments/:envId/disconnect", {
      params: environment,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotate(Roles, environments),
    HttpApiEndpoint.get("status", "/runs/:run/environments/:envId/status", {
      params: environment,
      success: Wire.EnvironmentStatus,
      error: common
    }),
    HttpApiEndpoint.get("events", "/runs/:run/environments/:envId/events", {
      params: environment,
      success: HttpApiSchema.StreamSse({ data: Wire.EnvironmentStatus }),
      error: common
    }).annotateMerge(describe("The status now and whenever it changes, as server-sent events named `status`.")),
    HttpApiEndpoint.post("report", "/runs/:run/environments/:envId/report", {
      params: environment,
      payload: Wire.EnvironmentReport,
      success: HttpApiSchema.NoContent,
      error: common
    })
      .annotate(Roles, environments)
      .annotateMerge(describe("What the environment says of itself; the last report is kept.")),
    HttpApiEndpoint.get("loadState", "/runs/:run/state/:environment", {
      params: { run: Wire.Name, environment: Wire.Name },
      success: Wire.SavedState,
      error: common
    }).annotate(Roles, environments),
    HttpApiEndpoint.put("saveState", "/runs/:run/state/:environment", {
      params: { run: Wire.Name, environment: Wire.Name },
      payload: Wire.SavedState,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotate(Roles, environments)
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

/** Scored groups in. */
export class GroupsGroup extends HttpApiGroup.make("groups")
  .add(
    HttpApiEndpoint.post("submit", "/runs/:run/groups", {
      params: run,
      payload: [Schema.Unknown, packed],
      success: Schema.Struct({ outcomes: Schema.Array(Wire.SubmitOutcome) }),
      error: [...common, wire.QueueFull]
    }).annotateMerge(
      describe(
        "Stores groups durably, all or none: JSON `{ key, group }` or an array of them, or a packed list. A key is stored once."
      )
    ),
    HttpApiEndpoint.post("recordPieces", "/runs/:run/pieces", {
      params: run,
      payload: Wire.Pieces,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotateMerge(describe("Text of token ids, for people who look at tokens; what is known already stays."))
  )
  .annotateEndpoints(Roles, environments)
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

/** Batches out, under a lease. */
export class BatchesGroup extends HttpApiGroup.make("batches")
  .add(
    HttpApiEndpoint.post("claim", "/runs/:run/batches/claim", {
      params: run,
      payload: Wire.Claim,
      success: [Wire.JsonBatch, packed, HttpApiSchema.NoContent],
      error: common
    }).annotateMerge(describe("The oldest free batch, waiting up to `wait_seconds` for one; 204 when there is none.")),
    HttpApiEndpoint.post("ack", "/runs/:run/batches/:id/ack", {
      params: batch,
      payload: Wire.Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, wire.LeaseLost]
    }).annotateMerge(describe("The batch was learned from: it is not handed out again.")),
    HttpApiEndpoint.post("nack", "/runs/:run/batches/:id/nack", {
      params: batch,
      payload: Wire.Lease,
      success: HttpApiSchema.NoContent,
      error: [...common, wire.LeaseLost]
    }).annotateMerge(describe("The batch goes to the next claimer at once.")),
    HttpApiEndpoint.post("extend", "/runs/:run/batches/:id/extend", {
      params: batch,
      payload: Wire.LeaseExtension,
      success: HttpApiSchema.NoContent,
      error: [...common, wire.LeaseLost]
    }).annotateMerge(describe("Makes the lease last `lease_seconds` from now."))
  )
  .annotateEndpoints(Roles, trainers)
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

/** Metrics of steps in. */
export class MetricsGroup extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.post("record", "/runs/:run/metrics", {
      params: run,
      payload: Wire.Metrics,
      success: [Wire.MetricsLeftOut, HttpApiSchema.NoContent],
      error: common
    })
      .annotate(Roles, ["environment", "trainer"])
      .annotateMerge(
        describe(
          'Values are numbers, or "NaN", "Infinity", "-Infinity". One that is neither is left out and named in the answer (200); the ' +
            "others are kept."
        )
      )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

/**
 * What people look at: runs, rollouts, metrics, environments, batches, those of ended runs too. The viewer needs
 * nothing else but a run's summary, so that whatever can answer these can be viewed.
 */
export class ReadingGroup extends HttpApiGroup.make("reading")
  .add(
    HttpApiEndpoint.get("runs", "/runs", {
      success: Schema.Struct({ runs: Schema.Array(Wire.RunRow) }),
      error: common
    }),
    HttpApiEndpoint.get("rollouts", "/runs/:run/rollouts", {
      params: run,
      query: Wire.RolloutQuery,
      success: Wire.RolloutPage,
      error: common
    }).annotateMerge(
      describe(
        "Stored groups, newest first. `text`: words that must all occur in a group's messages, as beginnings of words; quotes keep " +
          "a phrase of whole words together."
      )
    ),
    HttpApiEndpoint.get("rollout", "/runs/:run/rollouts/:id", {
      params: batch,
      success: [Wire.Rollout, packed],
      error: common
    }),
    HttpApiEndpoint.get("pieces", "/runs/:run/pieces", {
      params: run,
      query: Wire.PiecesQuery,
      success: Wire.Pieces,
      error: common
    }).annotateMerge(describe("Text of token ids, as environments told it; unknown ids are left out.")),
    HttpApiEndpoint.get("metrics", "/runs/:run/metrics", {
      params: run,
      query: Wire.MetricsQuery,
      success: Wire.MetricsPage,
      error: common
    }),
    HttpApiEndpoint.get("metricsEvents", "/runs/:run/metrics/events", {
      params: run,
      query: Wire.MetricsEventsQuery,
      success: HttpApiSchema.StreamSse({ data: Schema.Array(Wire.MetricsRow) }),
      error: common
    }).annotateMerge(
      describe(
        "Rows of metrics as they come, as server-sent events named `metrics`, each an array of rows under the id of its last one. " +
          "They begin after the row of `after` or of the header Last-Event-ID, else with what comes from now on."
      )
    ),
    HttpApiEndpoint.get("environments", "/runs/:run/environments", {
      params: run,
      success: Schema.Struct({ environments: Schema.Array(Wire.EnvironmentRow) }),
      error: common
    }),
    HttpApiEndpoint.get("batches", "/runs/:run/batches", {
      params: run,
      success: Schema.Struct({ batches: Schema.Array(Wire.BatchRow) }),
      error: common
    }).annotateMerge(describe("The newest 100 batches, newest first."))
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}

const title = { title: "Atropos trajectory service", version: "1.0.0" }

/** All of them. */
export class TrajectoryApi extends HttpApi.make("atropos")
  .add(HealthGroup, ReadingGroup, RunsGroup, EnvironmentsGroup, GroupsGroup, BatchesGroup, MetricsGroup)
  .annotateMerge(
    OpenApi.annotations({
      ...title,
      description: "Runs, environments, scored groups in, training batches out. See docs/protocol.md of @atropos/core."
    })
  ) {}

/** Those that a viewer of stored rollouts needs. */
export class ReadingApi extends HttpApi.make("atropos")
  .add(ReadingGroup)
  .annotateMerge(
    OpenApi.annotations({ ...title, description: "Stored rollouts. See docs/protocol.md of @atropos/core." })
  ) {}
