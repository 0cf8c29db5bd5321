/**
 * The endpoints of a dialect: how a request of a session is read, asked and answered over HTTP.
 *
 * Whatever goes wrong is the dialect's own error. A streamed answer is sent as the dialect's events once it is whole.
 */
import { Effect, Predicate } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import * as Body from "./Body.ts"
import type { Answered, Dialect, Failure, Stored } from "./dialect/Dialect.ts"
import type { Choice } from "../inference/backend/Inference.ts"
import type { Respondent } from "./session/OpenSession.ts"

export interface Endpoint<To = Respondent> {
  readonly method: "GET" | "POST" | "DELETE"
  /** What follows `/s/<secret>`. */
  readonly path: `/${string}`
  readonly handle: (
    to: To,
    limitBytes: number
  ) => Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    Failure,
    HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext
  >
  readonly failure: Dialect<unknown>["failure"]
}

/** All endpoints of a dialect whose requests go to `path`. */
export const make = <Read>(path: `/${string}`, dialect: Dialect<Read>): ReadonlyArray<Endpoint> => {
  const { counting, failure, stored } = dialect
  const endpoints: Array<Endpoint> = [{ method: "POST", path, handle: sampled(dialect), failure }]
  if (counting !== undefined) {
    const handle: Endpoint["handle"] = Effect.fnUntraced(function* (session, limitBytes) {
      const request = yield* counting.decode(yield* Body.read(limitBytes), session.memory)
      return HttpServerResponse.jsonUnsafe(counting.answer(yield* session.countTokens(request)))
    })
    endpoints.push({ method: "POST", path: `${path}/count_tokens`, handle, failure })
  }
  if (stored !== undefined) {
    endpoints.push(
      { method: "GET", path: `${path}/:id`, handle: byId(stored.retrieve), failure },
      { method: "DELETE", path: `${path}/:id`, handle: byId(stored.remove), failure }
    )
  }
  return endpoints
}

/** Answers with what is told of an earlier answer. */
const byId =
  (answer: Stored["retrieve"]): Endpoint["handle"] =>
  (session) =>
    HttpRouter.params.pipe(
      Effect.flatMap(({ id = "" }) => answer(id, session.memory)),
      Effect.map((body) => HttpServerResponse.jsonUnsafe(body))
    )

const sampled = <Read>(dialect: Dialect<Read>): Endpoint["handle"] =>
  Effect.fnUntraced(function* (session, limitBytes) {
    const body = yield* Body.read(limitBytes)
    const turn = yield* dialect.decode(body, session.memory)
    const { chat, choices, createdAtMillis, id } = yield* session.ask(turn.request, turn.ignored)
    const answered: Answered = {
      id,
      createdAt: Math.floor(createdAtMillis / 1000),
      model: Predicate.hasProperty(body, "model") && typeof body.model === "string" ? body.model : session.modelName,
      chat,
      choices,
      usage: usageOf(choices)
    }
    const headers = idHeaders(id)
    if (!turn.isStreamed)
      return HttpServerResponse.jsonUnsafe(dialect.answer(turn, answered, session.memory), { headers })
    return HttpServerResponse.text(dialect.events(turn, answered, session.memory).join(""), {
      contentType: "text/event-stream; charset=utf-8",
      headers: { ...headers, "cache-control": "no-cache", "x-accel-buffering": "no" }
    })
  })

/** Where the SDKs of OpenAI and Anthropic look for the id of a request. */
const idHeaders = (id: string) => ({ "x-request-id": `req_${id}`, "request-id": `req_${id}` })

/** The prompt is one, however many choices there are. */
const usageOf = (choices: ReadonlyArray<Choice>): Answered["usage"] => ({
  promptTokens: choices[0]?.usage?.promptTokens ?? 0,
  completionTokens: choices.reduce((sum, { usage }) => sum + (usage?.completionTokens ?? 0), 0)
})

/** A failure, as an answer. */
export const refused = (
  write: Dialect<unknown>["failure"],
  failure: Failure
): HttpServerResponse.HttpServerResponse => {
  const id = randomBytes(12).toString("hex")
  const { body, status } = write(failure, id)
  const { retryAfterMillis: wait } = failure
  return HttpServerResponse.jsonUnsafe(body, {
    status,
    headers: {
      ...idHeaders(id),
      ...(wait !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(wait / 1000))),
        "retry-after-ms": String(Math.ceil(wait))
      })
    }
  })
}
