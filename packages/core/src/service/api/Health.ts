import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { describe } from "./Access.ts"
import { common } from "./TrajectoryApiError.ts"

/** The status of the service. */
export const Health = Schema.Struct({
  status: Schema.Literals(["live", "ready"]),
  /** The version of the endpoints, which clients check. */
  api: Schema.Literal("v1")
})
export type Health = typeof Health.Type

/** Liveness, and readiness of the database. No token required. */
export class HealthGroup extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Health }).annotateMerge(
      describe("Answers while the process runs.")
    ),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Health, error: common }).annotateMerge(
      describe("Answers 200 if the database is up.")
    )
  )
  .prefix("/v1") {}
