/** What a session's URL answers beside the dialects: the model there is, and the reward that is reported. */
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as Body from "./Body.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as OpenAiFailure from "./dialect/OpenAiFailure.ts"
import type { Endpoint } from "./Endpoint.ts"
import * as Reported from "./session/Reported.ts"

const epoch = "1970-01-01T00:00:00Z"

/** In the forms of OpenAI and Anthropic at once. */
const modelOf = (id: string) => ({
  id,
  object: "model",
  type: "model",
  created: 0,
  created_at: epoch,
  owned_by: "atropos",
  display_name: id
})

const listOf = (id: string) => ({ object: "list", data: [modelOf(id)], has_more: false, first_id: id, last_id: id })

const failure = OpenAiFailure.write

export const endpoints: ReadonlyArray<Endpoint> = [
  {
    method: "GET",
    // The path without a name is the same route.
    path: "/v1/models/*",
    failure,
    // Any name is answered by the one model, so any name is there.
    handle: ({ modelName }) =>
      Effect.map(HttpRouter.params, ({ "*": name = "" }) =>
        HttpServerResponse.jsonUnsafe(name === "" ? listOf(modelName) : modelOf(name))
      )
  },
  {
    method: "POST",
    path: "/reward",
    failure,
    handle: Effect.fnUntraced(function* (session, limitBytes) {
      const body = yield* Body.read(limitBytes)
      yield* session.report(yield* Reported.decode(body, session.answers()))
      return HttpServerResponse.jsonUnsafe({ session: session.id, rewards: (yield* session.rewards).length })
    })
  }
]

/** No such endpoint; says which there are. */
export const unknownPath = (method: string, path: string, known: ReadonlyArray<Endpoint>): Failure =>
  new Failure({
    reason: "unknownPath",
    message:
      `nothing answers ${method} ${path}: a session has ` + known.map((one) => `${one.method} ${one.path}`).join(", ")
  })
