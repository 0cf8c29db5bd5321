/**
 * Serves the tools of an episode over MCP's JSON-RPC, in `mcp` messages of a socket and at `POST /mcp`: `tools/list`,
 * and `tools/call`, which is a step with that call as its action.
 *
 * Over HTTP a session is created by `openenv/session/create`, named by the parameter `session_id`, and closed by
 * `openenv/session/close`; a socket at `/ws?session_id=…` resets and steps the same episode. This matches OpenEnv's MCP
 * clients.
 */
import { ExactJson } from "@atropos/core"
import { Driven } from "@atropos/envs"
import { Effect, Predicate, Schema } from "effect"
import type { ActionError } from "./Actions.ts"
import * as Observations from "./Observations.ts"
import type { Session } from "./Session.ts"
import type { CapacityReached, Sessions } from "./Sessions.ts"
import type { UnknownSession } from "./UnknownSession.ts"

const Request = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.optionalKey(
    Schema.Union([Schema.String, Schema.Finite, Schema.instanceOf(ExactJson.Numeral), Schema.Null])
  ),
  method: Schema.String,
  params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})
const decode = Schema.decodeUnknownEffect(Request)

const codes = {
  noJson: -32700,
  invalidRequest: -32600,
  noSuchMethod: -32601,
  invalidParams: -32602,
  failed: -32603,
  full: -32000
} as const

type Id = string | number | ExactJson.Numeral | null
type Params = { readonly [name: string]: unknown }

const failed = (id: Id, code: number, message: string, data?: unknown) => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data !== undefined && { data }) }
})

export const unreadable = (message: string) => failed(null, codes.noJson, `Parse error: ${message}`)

/** A parameter is missing, or the method is not valid here. */
class McpError extends Schema.TaggedError<McpError>()("McpError", { code: Schema.Int, message: Schema.String }) {}

const wrong = (code: number, message: string) => new McpError({ code, message })

type Failure = Driven.DrivenError | ActionError | CapacityReached | UnknownSession | McpError

const refusal = (id: Id, error: Failure) => {
  switch (error._tag) {
    case "CapacityReached":
      return failed(id, codes.full, error.message, { active_sessions: error.active, max_sessions: error.limit })
    case "DrivenError":
      return failed(id, codes.failed, error.message)
    case "McpError":
      return failed(id, error.code, error.message)
    default:
      return failed(id, codes.invalidParams, error.message)
  }
}

const called = (session: Session, { arguments: args = {}, name }: Params) =>
  Effect.map(session.step({ type: "call_tool", tool_name: name, arguments: args }), ({ done, observation, reward }) => {
    const { error, result } = observation
    if (Predicate.isReadonlyObject(result)) return result
    const words =
      Predicate.hasProperty(error, "message") && typeof error.message === "string"
        ? error.message
        : `the episode is over${done && reward !== null ? `, reward ${reward}` : ""}`
    return { content: [{ type: "text", text: words }], is_error: true }
  })

/** MCP writes the schema's key in camel case. */
const listed = (request: Pick<Driven.Asked, "tools">) => ({
  tools: Observations.toolsOf(request).map(({ input_schema: inputSchema, ...tool }) => ({ ...tool, inputSchema }))
})

const methods = "tools/list, tools/call, openenv/session/create and openenv/session/close"

const idOf = ({ session_id: id }: Params): Effect.Effect<string, McpError> =>
  typeof id === "string" && id !== ""
    ? Effect.succeed(id)
    : Effect.fail(
        wrong(
          codes.invalidParams,
          'Invalid params - "session_id" is required: openenv/session/create returns one; the socket at /ws?session_id=… starts its episode'
        )
      )

const withinSocket = wrong(codes.invalidRequest, "a socket already is a session, which ends with it")

/** Answers a request; errors are JSON-RPC errors. `own`: the session of the socket it arrived on, if any. */
export const answer = (sessions: Sessions, own: Session | undefined, input: unknown): Effect.Effect<object> => {
  const sessionOf = (params: Params): Effect.Effect<Session, McpError | UnknownSession> =>
    own === undefined ? Effect.flatMap(idOf(params), sessions.shared.named) : Effect.succeed(own)
  const resultOf = (method: string, params: Params): Effect.Effect<object, Failure> => {
    switch (method) {
      case "tools/list":
        return own === undefined && params["session_id"] === undefined
          ? Effect.succeed(listed(sessions))
          : Effect.map(
              Effect.flatMap(sessionOf(params), ({ tools }) => tools),
              listed
            )
      case "tools/call":
        return Effect.flatMap(sessionOf(params), (session) => called(session, params))
      case "openenv/session/create":
        return own === undefined
          ? Effect.map(sessions.shared.create, (session_id) => ({ session_id }))
          : Effect.fail(withinSocket)
      case "openenv/session/close":
        return own === undefined
          ? Effect.gen(function* () {
              const id = yield* idOf(params)
              const isOver = yield* sessions.shared.close(id)
              return { session_id: id, closed: isOver, ...(!isOver && { closing: true }) }
            })
          : Effect.fail(withinSocket)
      default:
        return Effect.fail(wrong(codes.noSuchMethod, `unknown method ${method}; supported are ${methods}`))
    }
  }
  return decode(input).pipe(
    Effect.matchEffect({
      onFailure: ({ message }) => Effect.succeed(failed(null, codes.invalidRequest, `Invalid request: ${message}`)),
      onSuccess: ({ id = null, method, params = {} }) =>
        Effect.match(resultOf(method, params), {
          onSuccess: (result): object => ({ jsonrpc: "2.0", id, result }),
          onFailure: (error) => refusal(id, error)
        })
    })
  )
}
