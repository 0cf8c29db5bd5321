/** Who asks: what a page shows may depend on what its token may do. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Authorization, describe, RequestErrors, Role } from "./Access.ts"

/** The roles that whoever asks may act in; all where the service asks for no tokens. */
export const Caller = Schema.Struct({ roles: Schema.Array(Role) })
export type Caller = typeof Caller.Type

/** What the token of a request is worth. */
export class CallerGroup extends HttpApiGroup.make("caller")
  .add(
    HttpApiEndpoint.get("get", "/caller", { success: Caller }).annotateMerge(
      describe("The roles that the token may act in: all of an admin's, and where no tokens are asked for.")
    )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
