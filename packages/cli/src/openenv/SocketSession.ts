/**
 * Serves a session over a socket to OpenEnv clients: JSON messages `reset`, `step`, `state`, `mcp` and `close`, each
 * answered by one message, in order. A mistake is answered by an `error` message with its code, and the session
 * continues. Above the session limit, a new client gets an error and is closed; so is an idle one. With `?session_id=…`
 * the socket joins a session created over HTTP (`SharedSessions`).
 */
import { ExactJson } from "@atropos/core"
import { Driven } from "@atropos/envs"
import * as JsonBounds from "@atropos/core/base/json/JsonBounds"
import { Duration, Effect, Option, Predicate, Result } from "effect"
import { Socket } from "effect/socket"
import { ActionError } from "./Actions.ts"
import * as Mcp from "./Mcp.ts"
import type { Session } from "./Session.ts"
import type { CapacityReached, Sessions } from "./Sessions.ts"

export const messageBytes = 4 * 2 ** 20

type Code =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "SESSION_ERROR"

const errorOf = (code: Code, message: string, more: { readonly [name: string]: unknown } = {}): Reply => ({
  type: "error",
  data: { message, code, ...more }
})

interface Reply {
  readonly type: string
  readonly data: unknown
}

/** The answer to one message; undefined: the client closes the session. */
const answer = Effect.fnUntraced(function* (sessions: Sessions, session: Session, text: string) {
  const excess = yield* JsonBounds.excess(new TextEncoder().encode(text))
  if (excess !== undefined) return errorOf("INVALID_JSON", `Invalid JSON: the message ${excess}`)
  const message = Result.getSuccess(Result.try(() => ExactJson.parseWritten(text)))
  return Option.isNone(message)
    ? errorOf("INVALID_JSON", "Invalid JSON: a message is a JSON object")
    : yield* answered(sessions, session, message.value)
})

const answered = (sessions: Sessions, session: Session, message: unknown): Effect.Effect<Reply | undefined> => {
  const type = Predicate.hasProperty(message, "type") ? message.type : undefined
  const data = Predicate.hasProperty(message, "data") ? message.data : undefined
  switch (type) {
    case "reset":
      return observed(session.reset(data))
    case "step":
      return observed(session.step(data))
    case "state":
      return Effect.map(session.state, (state) => ({ type: "state", data: state }))
    case "mcp":
      return Effect.map(Mcp.answer(sessions, session, data), (response) => ({ type: "mcp", data: response }))
    case "close":
      return Effect.succeed(undefined)
    default:
      return Effect.succeed(errorOf("UNKNOWN_TYPE", `Unknown message type: ${typeof type === "string" ? type : ""}`))
  }
}

const observed = <A>(effect: Effect.Effect<A, Driven.DrivenError | ActionError>) =>
  Effect.match(effect, {
    onSuccess: (data) => ({ type: "observation", data }),
    onFailure: (error) =>
      error instanceof ActionError
        ? errorOf("VALIDATION_ERROR", error.message, { errors: error.errors })
        : errorOf("EXECUTION_ERROR", error.message)
  })

const full = (error: CapacityReached) =>
  errorOf("CAPACITY_REACHED", error.message, { active_sessions: error.active, max_sessions: error.limit })

export const serve = Effect.fn("openenv.SocketSession")(
  function* (sessions: Sessions, socket: Socket.Socket, id?: string) {
    const { write } = yield* socket.writer
    const pull = yield* Socket.readerString(socket)
    const send = (message: unknown) => write(JSON.stringify(message))
    const leave = write(new Socket.CloseEvent(1000))
    const conversation = Effect.gen(function* () {
      const session = yield* id === undefined ? sessions.open : sessions.shared.attach(id)
      for (;;) {
        const texts: Option.Option<ReadonlyArray<string>> = yield* Effect.timeoutOption(pull, sessions.idle)
        if (Option.isNone(texts)) {
          yield* send(
            errorOf("SESSION_ERROR", `no message for ${Duration.format(sessions.idle)}: the session has ended`)
          )
          return yield* leave
        }
        for (const text of texts.value) {
          const reply = yield* answer(sessions, session, text)
          if (reply === undefined) return yield* leave
          yield* send(reply)
        }
      }
    })
    yield* conversation.pipe(
      Effect.catchTags({
        CapacityReached: (error) => Effect.andThen(send(full(error)), leave),
        UnknownSession: ({ message }) => Effect.andThen(send(errorOf("SESSION_ERROR", message)), leave)
      })
    )
  },
  // The session ends however its socket does.
  Effect.catchTag("SocketError", () => Effect.void),
  Effect.scoped
)
