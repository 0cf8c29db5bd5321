/** Whether the service works. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { describe } from "./Access.ts"
import { common } from "./TrajectoryApiError.ts"

/** Whether the service can work. */
export const Health = Schema.Struct({
  status: Schema.Literals(["live", "ready"]),
  /** The version of the endpoints: what a client looks for. */
  api: Schema.Literal("v1")
})
export type Health = typeof Health.Type

/** Whether the service lives, and whether its database answers. No token needed. */
export class HealthGroup extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Health }).annotateMerge(
      describe("Answers as long as the process does.")
    ),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Health, error: common }).annotateMerge(
      describe("Answers 200 when the database does.")
    )
  )
  .prefix("/v1") {}
