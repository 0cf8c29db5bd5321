/** Endpoints to submit scored groups, and the text of their tokens. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authorization, describe, environments, packed, RequestErrors, Roles } from "./Access.ts"
import { runParams, wire } from "./Fields.ts"
import { common, wire as errors } from "./TrajectoryApiError.ts"

export const SubmitOutcome = Schema.Union([
  wire({ status: Schema.Literals(["received", "duplicate"]) }),
  wire({ status: Schema.Literal("buffered"), bufferSize: Schema.Int })
])
export type SubmitOutcome = typeof SubmitOutcome.Type

/** The outcomes of groups submitted together, in their order. */
export const SubmitAnswer = Schema.Struct({ outcomes: Schema.Array(SubmitOutcome) })

const maxTokenId = 2 ** 31 - 1

const isTokenId = (text: string): boolean => /^\d{1,10}$/.test(text) && Number(text) <= maxTokenId

export const Pieces = Schema.Struct({
  pieces: Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(1024))).check(
    Schema.isMaxProperties(20_000),
    Schema.makeFilter((pieces) => {
      const odd = Object.keys(pieces).find((key) => !isTokenId(key))
      return odd === undefined || `the keys should be token ids, not ${JSON.stringify(odd.slice(0, 100))}`
    })
  )
})
export type Pieces = typeof Pieces.Type

/** Selects pieces; all if no ids are given. */
export const PiecesQuery = wire({
  ids: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^\d{1,10}(,\d{1,10}){0,9999}$/, { message: "token ids, separated by commas" })
    )
  )
})
export type PiecesQuery = typeof PiecesQuery.Type

export class GroupsGroup extends HttpApiGroup.make("groups")
  .add(
    HttpApiEndpoint.post("submit", "/runs/:run/groups", {
      params: runParams,
      payload: [Schema.Unknown, packed],
      success: SubmitAnswer,
      error: [...common, errors.QueueFull]
    }).annotateMerge(
      describe(
        "Stores groups durably, all or none: JSON `{ key, group }` or an array of them, or a packed list. A key is stored once."
      )
    ),
    HttpApiEndpoint.post("recordPieces", "/runs/:run/pieces", {
      params: runParams,
      payload: Pieces,
      success: HttpApiSchema.NoContent,
      error: common
    }).annotateMerge(describe("Texts of token ids, for display; known ones are not changed."))
  )
  .annotateEndpoints(Roles, environments)
  .middleware(RequestErrors)
  .middleware(Authorization)
  .prefix("/v1") {}
