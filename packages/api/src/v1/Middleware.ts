/** Tokens, malformed requests and the size of JSON bodies at the versioned endpoints. */
import { ByteSize, Context, Effect, Layer, Redacted, SchemaIssue } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { EnvironmentSettings, TrajectoryApi, TrajectoryApiError as ApiError, TrajectoryApiSchema } from "@atropos/core"
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

/** What a web page may send without asking first has another type than these, or none. */
const isTyped = ({ headers }: HttpServerRequest.HttpServerRequest, isSubmission: boolean): boolean => {
  const hasBody = Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined
  const type = (headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase()
  return !hasBody || type === "application/json" || (isSubmission && type === TrajectoryApiSchema.packedContentType)
}

const untyped = (given: string | undefined, isSubmission: boolean) => {
  const right = isSubmission ? `application/json or ${TrajectoryApiSchema.packedContentType}` : "application/json"
  const message = `Content-Type: should be ${right}, ${given === undefined ? "and there is none" : `not ${given}`}`
  return HttpServerResponse.jsonUnsafe({ error: "BadRequest", message, field: "Content-Type" }, { status: 400 })
}

const isTooLarge = (defect: unknown): boolean =>
  HttpServerError.isHttpServerError(defect) &&
  defect.reason._tag === "RequestParseError" &&
  defect.reason.reason === "BodyTooLarge"

/** Refuses bodies that do not say what they are, and larger ones, by their Content-Length or while they arrive. */
export const bodies = HttpRouter.middleware((route) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { route: matched } = yield* HttpRouter.RouteContext
    const isSubmission = matched.path.endsWith("/:run/groups")
    if (!isTyped(request, isSubmission)) return untyped(request.headers["content-type"], isSubmission)
    if (isSubmission) return yield* route
    if (Number(request.headers["content-length"] ?? 0) > maxJsonBytes) return tooLarge
    return yield* route.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, maxJsonBody),
      Effect.catchDefect((defect) => (isTooLarge(defect) ? Effect.succeed(tooLarge) : Effect.die(defect)))
    )
  })
)
