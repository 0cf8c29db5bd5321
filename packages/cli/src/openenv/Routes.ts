/**
 * Defines the endpoints of an OpenEnv server.
 *
 *     GET  /ws                          a session: see `SocketSession`
 *     POST /mcp                         tools over JSON-RPC, and sessions of MCP clients: see `Mcp`
 *     GET  /health /metadata /schema /openapi.json    description of the server
 *     POST /reset                       {"seed": 7, "episode_id": "…"}: starts an episode
 *     POST /step                        {"action": {"message": "…"}, "episode_id": "…"}
 *     GET  /state?episode_id=…
 *
 * Episodes over HTTP are named by the id in the metadata of `reset`; it may be omitted if only one is open. Bodies
 * follow OpenEnv 0.10; errors are FastAPI's, `{ "detail": … }`.
 */
import { BodyLimit, ExactJson } from "@atropos/core"
import { type Driven } from "@atropos/envs"
import * as Reason from "@atropos/core/base/Reason"
import { Effect, Option, Predicate, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ActionError } from "./Actions.ts"
import * as Mcp from "./Mcp.ts"
import * as OpenApi from "./OpenApi.ts"
import * as Schemas from "./Schemas.ts"
import type { Session } from "./Session.ts"
import type { CapacityReached, Sessions } from "./Sessions.ts"
import * as SocketSession from "./SocketSession.ts"
import type { UnknownSession } from "./UnknownSession.ts"

const bodyBytes = 16 * 2 ** 20

class BodyError extends Schema.TaggedError<BodyError>()("BodyError", { message: Schema.String }) {}

/** The memory for request bodies is exhausted by other requests. */
class Busy extends Schema.TaggedError<Busy>()("Busy", { message: Schema.String }) {}

/** Numbers are kept as written: they may be ids in tool call arguments, or of a JSON-RPC request. */
const decodeAny = (text: string) =>
  Effect.try({ try: () => ExactJson.parseWritten(text), catch: (cause) => ({ message: Reason.of(cause) }) })

const bodyText = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const refuse = (message: string) => () => new BodyError({ message })
  const bytes = yield* BodyLimit.readJson<BodyError | Busy>(request, bodyBytes, {
    tooLarge: refuse(`a body has at most ${bodyBytes} bytes`),
    busy: () => new Busy({ message: "too many request bodies in memory: retry shortly" }),
    broken: refuse("the body is incomplete"),
    excess: (message) => new BodyError({ message })
  })
  return new TextDecoder().decode(bytes)
})

/** The body's JSON object; an empty body is an empty object. */
const body = Effect.gen(function* () {
  const text = yield* bodyText
  if (text.trim() === "") return {}
  const value = yield* Effect.option(decodeAny(text))
  if (Option.isSome(value) && Predicate.isReadonlyObject(value.value) && !Array.isArray(value.value)) return value.value
  return yield* new BodyError({ message: "the body must be a JSON object" })
})

const json = (value: unknown, status = 200) => HttpServerResponse.jsonUnsafe(value, { status })

type Failure = BodyError | Busy | ActionError | CapacityReached | UnknownSession | Driven.DrivenError

const statuses: { readonly [tag in Failure["_tag"]]: number } = {
  BodyError: 422,
  Busy: 503,
  ActionError: 422,
  CapacityReached: 503,
  UnknownSession: 404,
  DrivenError: 500
}

const withErrors = <R>(effect: Effect.Effect<unknown, Failure, R>) =>
  Effect.match(effect, {
    onSuccess: (value) => json(value),
    onFailure: (error) =>
      json(
        { detail: error._tag === "ActionError" ? [{ msg: error.message }, ...error.errors] : error.message },
        statuses[error._tag]
      )
  })

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const parameter = (request: HttpServerRequest.HttpServerRequest, name: string): string | undefined =>
  textOf(new URL(request.url, "http://localhost").searchParams.get(name))

/** The response to reset, with the id that continues its episode. */
const withId = (session: Session, input: unknown) =>
  Effect.gen(function* () {
    const { metadata, ...observed } = yield* session.reset(input)
    const { episode_id } = yield* session.state
    return { ...observed, metadata: { ...metadata, episode_id } }
  })

const overHttp = (sessions: Sessions) => ({
  reset: Effect.gen(function* () {
    const input = yield* body
    return yield* sessions.begin(textOf(input["episode_id"]), (session) => withId(session, input))
  }),
  step: Effect.gen(function* () {
    const { action, episode_id: id } = yield* body
    const session = yield* sessions.named(textOf(id))
    const observed = yield* session.step(action)
    return { metadata: null, ...observed }
  }),
  state: Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    return yield* (yield* sessions.named(parameter(request, "episode_id"))).state
  })
})

/** JSON-RPC returns errors with status 200. */
const mcp = (sessions: Sessions) =>
  bodyText.pipe(
    Effect.flatMap(decodeAny),
    Effect.matchEffect({
      onFailure: ({ message }) => Effect.succeed<object>(Mcp.unreadable(message)),
      onSuccess: (input) => Mcp.answer(sessions, undefined, input)
    }),
    Effect.map((answer) => json(answer))
  )

const socket = (sessions: Sessions) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (!Predicate.isNotUndefined(request.headers["upgrade"])) {
      return json({ detail: "this endpoint is for WebSockets: request an upgrade, or use POST /reset and /step" }, 426)
    }
    yield* SocketSession.serve(sessions, yield* Effect.orDie(request.upgrade), parameter(request, "session_id"))
    return HttpServerResponse.empty()
  })

export const layer = (sessions: Sessions, { description, name, version }: OpenApi.About) => {
  const { reset, state, step } = overHttp(sessions)
  const metadata = { name, description, readme_content: null, version, author: null, documentation_url: null }
  const paths = ["/ws", "/mcp", "/reset", "/step", "/state", "/schema", "/metadata", "/health", "/openapi.json"]
  return HttpRouter.addAll([
    HttpRouter.route("GET", "/ws", socket(sessions)),
    HttpRouter.route("GET", "/health", Effect.succeed(json({ status: "healthy" }))),
    HttpRouter.route("GET", "/metadata", Effect.succeed(json(metadata))),
    HttpRouter.route("GET", "/schema", Effect.succeed(json(Schemas.all))),
    HttpRouter.route("POST", "/reset", withErrors(reset)),
    HttpRouter.route("POST", "/step", withErrors(step)),
    HttpRouter.route("GET", "/state", withErrors(state)),
    HttpRouter.route("POST", "/mcp", mcp(sessions)),
    HttpRouter.route("GET", "/openapi.json", Effect.succeed(json(OpenApi.document({ name, description, version })))),
    HttpRouter.route("GET", "/", Effect.succeed(json({ name, description, protocol: "OpenEnv", paths }))),
    HttpRouter.route("*", "/*", Effect.succeed(json({ detail: "Not Found" }, 404)))
  ])
}
