/** Tokens, malformed requests and the size of JSON bodies at the versioned endpoints. */
import { ByteSize, Context, Effect, Layer, Redacted, SchemaIssue } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { EnvironmentSettings, TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import { Auth } from "../Auth.ts"

/** Asks for a token of one of the endpoint's roles. */
export const authorization: Layer.Layer<TrajectoryApi.Authorization, never, Auth> = Layer.effect(
  TrajectoryApi.Authorization,
  Effect.map(Auth, (auth) =>
    TrajectoryApi.Authorization.of({
      bearer: (httpEffect, { credential, endpoint }) =>
        Effect.andThen(
          auth.authorize(Redacted.value(credential), Context.get(endpoint.annotations, TrajectoryApi.Roles)),
          httpEffect
        )
    })
  )
)

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const notJson = "Expected a valid JSON body"

/** Names the field that was wrong, in the wire's spelling. */
export const requestErrors: Layer.Layer<TrajectoryApi.RequestErrors> = HttpApiMiddleware.layerSchemaErrorTransform(
  TrajectoryApi.RequestErrors,
  (error) => {
    const [issue] = format(error.cause.issue).issues
    const message = issue?.message ?? error.cause.message
    if (error.kind === "Body" || error.kind === "ResponseHeaders") {
      return Effect.andThen(
        Effect.logError("answer does not fit its definition", error.cause),
        Effect.fail(new ApiError.Internal({ message: "the service's answer does not fit its definition" }))
      )
    }
    if (message.includes(notJson)) return Effect.fail(new ApiError.BadRequest({ message: "the body is not JSON" }))
    const field = (issue?.path ?? [])
      .map((segment) => EnvironmentSettings.wireName(String(typeof segment === "object" ? segment.key : segment)))
      .join(".")
    const where = error.kind === "Payload" ? "body" : error.kind.toLowerCase()
    return Effect.fail(
      new ApiError.Invalid({
        message: `${field === "" ? where : `${where}.${field}`}: ${message}`,
        field: field === "" ? where : field
      })
    )
  }
)

/** Of a body that is read through a schema; submissions have limits of their own (`RequestBody`). */
const maxJsonBytes = 16 * 1024 * 1024
const maxJsonBody = ByteSize.fromInputUnsafe(maxJsonBytes)

const tooLarge = HttpServerResponse.jsonUnsafe(
  { error: "TooLarge", message: `the request body is larger than the ${maxJsonBytes} bytes allowed` },
  { status: 413 }
)

const isTooLarge = (defect: unknown): boolean =>
  HttpServerError.isHttpServerError(defect) &&
  defect.reason._tag === "RequestParseError" &&
  defect.reason.reason === "BodyTooLarge"

/** Refuses larger bodies, by their Content-Length or while they arrive. */
export const bodyLimit = HttpRouter.middleware((route) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
    if (url.split("?", 1)[0]!.endsWith("/groups")) return route
    if (Number(headers["content-length"] ?? 0) > maxJsonBytes) return Effect.succeed(tooLarge)
    return route.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, maxJsonBody),
      Effect.catchDefect((defect) => (isTooLarge(defect) ? Effect.succeed(tooLarge) : Effect.die(defect)))
    )
  })
)
