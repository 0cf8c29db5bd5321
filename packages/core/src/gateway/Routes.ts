/**
 * The gateway's routes in a router. An error is that of the dialect whose path was called; what no dialect was called
 * for is told in words that OpenAI's SDKs and Anthropic's both find.
 */
import { Cause, Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import * as Dialects from "./Dialects.ts"
import { Failure, type WrittenFailure } from "./dialect/Dialect.ts"
import * as OpenAiFailure from "./dialect/OpenAiFailure.ts"
import * as Endpoint from "./Endpoint.ts"
import * as SessionEndpoints from "./SessionEndpoints.ts"
import type { Sessions } from "./session/Sessions.ts"

const endpoints: ReadonlyArray<Endpoint.Endpoint> = [...Dialects.endpoints, ...SessionEndpoints.endpoints]

type Answer = HttpServerResponse.HttpServerResponse

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

export const layer = (sessions: Sessions): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
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
      yield* router.add("*", "/*", answered(anyForm, Effect.fail(unknownSession)))
    })
  )
