/** Reports the caller's roles: pages adapt to what its token permits. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Authorization, describe, RequestErrors, Role } from "./Access.ts"

/** The caller's roles; all of them if the service requires no tokens. */
export const Caller = Schema.Struct({ roles: Schema.Array(Role) })
export type Caller = typeof Caller.Type

export class CallerGroup extends HttpApiGroup.make("caller")
  .add(
    HttpApiEndpoint.get("get", "/caller", { success: Caller }).annotateMerge(
      describe("The roles of the token: all of them for an admin, and without tokens.")
    )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
