/**
 * The gateway's routes in a router. An error is that of the dialect whose path was called; what no dialect was called
 * for is told in words that OpenAI's SDKs and Anthropic's both find.
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
  /** Where the gateway is reached, once it is. */
  readonly url: () => string
  /** Whether programs of other processes may open sessions (`Control`). */
  readonly isControlled: boolean
  /** What answers without a session, at `/v1`. */
  readonly conversations?: Conversations
  /** Who may do either; empty: everybody. */
  readonly tokens: ReadonlyArray<BearerTokens.KnownToken<"control">>
}

type Answer = HttpServerResponse.HttpServerResponse
type Handler = Effect.Effect<
  Answer,
  Failure,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>

/** A defect is an answer too; the gateway goes on. */
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

/** OpenAI's form, with the `type` that Anthropic's SDK looks for. */
const anyForm = (failure: Failure): WrittenFailure => {
  const { body, status } = OpenAiFailure.write(failure)
  return { status, body: Object.assign({ type: "error" }, body) }
}

const unknownSession = new Failure({
  reason: "unknownPath",
  message:
    "nothing answers here: a session's base URL is http://HOST:PORT/s/<secret>/v1, or without /v1 for Anthropic's SDKs"
})

/** A request that no guard lets in. */
export const forbidden = (message: string): Answer =>
  Endpoint.refused((failure) => ({ ...anyForm(failure), status: 403 }), new Failure({ reason: "invalid", message }))

/** Whoever does not come by a session's secret shows a token, where tokens are asked for. */
const authorized = ({ tokens }: Options) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    if (tokens.length === 0) return Effect.void
    const token = BearerTokens.ofHeader(headers["authorization"]) ?? headers["x-api-key"]
    const isKnown = token !== undefined && BearerTokens.roleOf(tokens, token) !== undefined
    return isKnown ? Effect.void : Effect.fail(unauthorized)
  })

const unauthorized = new Failure({
  reason: "unauthorized",
  message: "this needs a token of the gateway: send it as API key, or as the header Authorization: Bearer <token>"
})

export const layer = (sessions: Sessions, options: Options): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { bodyBytes } = sessions.limits
      for (const { failure, handle, method, path } of endpoints) {
        const handler = Effect.flatMap(HttpRouter.params, ({ secret = "" }) =>
          Effect.flatMap(sessions.find(secret), (session) => handle(session, bodyBytes))
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
            yield* sessions.find(secret)
            const { method } = yield* HttpServerRequest.HttpServerRequest
            return yield* SessionEndpoints.unknownPath(method, `/${rest}`, endpoints)
          })
        )
      )
      const { conversations } = options
      if (conversations !== undefined) {
        for (const { failure, handle, method, path } of [...Dialects.endpoints, SessionEndpoints.models]) {
          const handler = Effect.andThen(authorized(options), handle(conversations, bodyBytes))
          yield* router.add(method, path, answered(failure, handler))
        }
        const reward = Effect.andThen(authorized(options), SessionEndpoints.rewardByAnswer(conversations, bodyBytes))
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
