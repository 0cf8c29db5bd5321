/** What the process of the service printed last. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Authorization, describe, RequestErrors } from "./Access.ts"

/** Oldest first; `at` in milliseconds since 1970. */
export const ConsoleOutput = Schema.Struct({
  lines: Schema.Array(Schema.Struct({ at: Schema.Finite, text: Schema.String }))
})
export type ConsoleOutput = typeof ConsoleOutput.Type

export class ConsoleGroup extends HttpApiGroup.make("console")
  .add(
    HttpApiEndpoint.get("last", "/console", { success: ConsoleOutput }).annotateMerge(
      describe("The last 200 lines that the process of the service printed, without secrets.")
    )
  )
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
