/**
 * The gateway's routes in a router. Errors are in the form of the dialect whose path was called; other errors are in a
 * form that OpenAI's and Anthropic's SDKs both read.
 */
import { Cause, Effect, type Layer, type Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import * as BearerTokens from "../http/BearerTokens.ts"
import * as Control from "./Control.ts"
import * as Dialects from "./Dialects.ts"
import { Failure, type WrittenFailure } from "./dialect/Dialect.ts"
import * as OpenAiFailure from "./dialect/OpenAiFailure.ts"
import * as Endpoint from "./Endpoint.ts"
import * as SessionEndpoints from "./SessionEndpoints.ts"
import type { Conversations } from "./session/Conversations.ts"
import type { OpenSession } from "./session/OpenSession.ts"
import type { Sessions } from "./session/Sessions.ts"

const endpoints: ReadonlyArray<Endpoint.Endpoint<OpenSession>> = [...Dialects.endpoints, ...SessionEndpoints.endpoints]

export interface Options {
  readonly url: () => string
  /** Allows programs in other processes to open sessions (`Control`). */
  readonly isControlled: boolean
  /** Answers requests at `/v1` without a session. */
  readonly conversations?: Conversations
  /** Tokens required for either; empty: none. */
  readonly tokens: ReadonlyArray<BearerTokens.KnownToken<"control">>
}

type Answer = HttpServerResponse.HttpServerResponse
type Handler = Effect.Effect<
  Answer,
  Failure,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>

/** Converts defects to responses; the gateway continues. */
const answered = <R>(
  write: (failure: Failure) => WrittenFailure,
  handler: Effect.Effect<Answer, Failure, R>
): Effect.Effect<Answer, never, R> =>
  handler.pipe(
    Effect.catchTag("Failure", (failure) => Effect.succeed(Endpoint.refused(write, failure))),
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterrupts(cause),
      (cause) =>
        Effect.as(
          Effect.logError("internal error while answering a session's request", cause),
          Endpoint.refused(write, internal)
        )
    )
  )

const internal = new Failure({ reason: "failed", message: "internal error; see the log of the gateway" })

/** OpenAI's form, with the `type` that Anthropic's SDK reads. */
const anyForm = (failure: Failure): WrittenFailure => {
  const { body, status } = OpenAiFailure.write(failure)
  return { status, body: Object.assign({ type: "error" }, body) }
}

const unknownSession = new Failure({
  reason: "unknownPath",
  message:
    "unknown endpoint: a session's base URL is http://HOST:PORT/s/<secret>/v1, or without /v1 for Anthropic's SDKs"
})

export const forbidden = (message: string): Answer =>
  Endpoint.refused((failure) => ({ ...anyForm(failure), status: 403 }), new Failure({ reason: "invalid", message }))

/** Requests without a session's secret need a token, if tokens are configured. */
const authorized = ({ tokens }: Options) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    if (tokens.length === 0) return Effect.void
    const token = BearerTokens.ofHeader(headers["authorization"]) ?? headers["x-api-key"]
    const isKnown = token !== undefined && BearerTokens.roleOf(tokens, token) !== undefined
    return isKnown ? Effect.void : Effect.fail(unauthorized)
  })

const unauthorized = new Failure({
  reason: "unauthorized",
  message: "the gateway requires a token: send it as API key, or as the header Authorization: Bearer <token>"
})

export const layer = (sessions: Sessions, options: Options): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { limits } = sessions
      for (const { failure, handle, method, path } of endpoints) {
        const handler = Effect.flatMap(HttpRouter.params, ({ secret = "" }) =>
          Effect.flatMap(sessions.find(secret), (session) => handle(session, limits))
        )
        yield* router.add(method, `/s/:secret${path}`, answered(failure, handler))
      }
      yield* router.add(
        "*",
        "/s/:secret/*",
        answered(
          anyForm,
          Effect.gen(function* () {
            const { secret = "", "*": rest = "" } = yield* HttpRouter.params
            const session = yield* sessions.find(secret)
            const { method } = yield* HttpServerRequest.HttpServerRequest
            const failure = SessionEndpoints.unknownPath(method, `/${rest}`, endpoints)
            // A read asks the model nothing: some agents look by one whether their provider is up.
            if (method !== "GET" && method !== "HEAD") session.refused(failure)
            return yield* failure
          })
        )
      )
      const { conversations } = options
      if (conversations !== undefined) {
        for (const { failure, handle, method, path } of [...Dialects.endpoints, SessionEndpoints.models]) {
          const handler = Effect.andThen(authorized(options), handle(conversations, limits))
          yield* router.add(method, path, answered(failure, handler))
        }
        const reward = Effect.andThen(
          authorized(options),
          SessionEndpoints.rewardByAnswer(conversations, limits.bodyBytes)
        )
        yield* router.add("POST", "/reward", answered(anyForm, reward))
      }
      if (options.isControlled) {
        for (const { handle, method, path } of Control.routes(sessions, options.url)) {
          const handler: Handler = handle
          yield* router.add(method, path, answered(anyForm, Effect.andThen(authorized(options), handler)))
        }
      }
      yield* router.add("*", "/*", answered(anyForm, Effect.fail(unknownSession)))
    })
  )
