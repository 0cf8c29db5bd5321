/** Endpoints of a session's URL other than the dialects: the model list, and reward reports. */
import { Effect, Predicate } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as Body from "./Body.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as OpenAiFailure from "./dialect/OpenAiFailure.ts"
import type { Endpoint } from "./Endpoint.ts"
import type { Conversations } from "./session/Conversations.ts"
import type { OpenSession } from "./session/OpenSession.ts"
import * as Reported from "./session/Reported.ts"

const epoch = "1970-01-01T00:00:00Z"

/** Readable as both OpenAI's and Anthropic's form. */
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

const reported = Effect.fnUntraced(function* (session: OpenSession, body: unknown, answer?: string) {
  yield* session.report(yield* Reported.decode(body, session.answers()), answer)
  return HttpServerResponse.jsonUnsafe({ session: session.id, rewards: (yield* session.rewards).length })
})

export const models: Endpoint = {
  method: "GET",
  // The path without a name is the same route.
  path: "/v1/models/*",
  failure,
  // The model answers to any name, so every name exists.
  handle: ({ modelName }) =>
    Effect.map(HttpRouter.params, ({ "*": name = "" }) =>
      HttpServerResponse.jsonUnsafe(name === "" ? listOf(modelName) : modelOf(name))
    )
}

export const endpoints: ReadonlyArray<Endpoint<OpenSession>> = [
  models,
  {
    method: "POST",
    path: "/reward",
    failure,
    handle: (session, { bodyBytes }) => Effect.flatMap(Body.read(bodyBytes), (body) => reported(session, body))
  }
]

/**
 * Reports the reward of a conversation without its own URL: `answer` is the id of an answer that it alone has.
 *
 *     { "answer": "chatcmpl-…", "reward": 1 }
 */
export const rewardByAnswer = Effect.fnUntraced(function* (conversations: Conversations, limitBytes: number) {
  const body = yield* Body.read(limitBytes)
  const { answer: id, ...rest } = Predicate.isReadonlyObject(body) ? body : {}
  const { answer, keep, session } = yield* conversations.rated(typeof id === "string" ? id : "")
  const response = yield* reported(session, rest, answer)
  keep()
  return response
})

/** The error for an unknown endpoint, listing the known ones. */
export const unknownPath = (
  method: string,
  path: string,
  known: ReadonlyArray<Pick<Endpoint, "method" | "path">>
): Failure =>
  new Failure({
    reason: "unknownPath",
    message:
      `unknown endpoint ${method} ${path}: a session has ` + known.map((one) => `${one.method} ${one.path}`).join(", ")
  })
