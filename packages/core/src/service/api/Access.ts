/** Roles of callers of the versioned endpoints, and the middleware of every group. */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi } from "effect/http-api"
import { packedContentType } from "./Fields.ts"
import { wire } from "./TrajectoryApiError.ts"

/** Roles: `admin` includes all others, and environments and trainers may read what readers may. */
export const Role = Schema.Literals(["environment", "trainer", "reader", "admin"])
export type Role = typeof Role.Type

/** The roles an endpoint is for (`admin` is always included). */
export const Roles = Context.Reference<ReadonlyArray<Role>>("@atropos/core/TrajectoryApi/Roles", {
  defaultValue: () => ["environment", "trainer", "reader"]
})

/** Checks the bearer token against the roles of the endpoint. */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()(
  "@atropos/core/TrajectoryApi/Authorization",
  { error: [wire.Unauthorized, wire.Forbidden], security: { bearer: HttpApiSecurity.bearer } }
) {}

/** Reports the invalid field of a malformed request, in the service's own error form. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()(
  "@atropos/core/TrajectoryApi/RequestErrors",
  { error: [wire.BadRequest, wire.Invalid, wire.Internal] }
) {}

export const environments: ReadonlyArray<Role> = ["environment"]
export const admins: ReadonlyArray<Role> = []
export const trainers: ReadonlyArray<Role> = ["trainer"]

export const packed = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: packedContentType }))

export const describe = (description: string) => OpenApi.annotations({ description })
