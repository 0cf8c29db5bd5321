/** Checks tokens, malformed requests and the size of JSON bodies at the versioned endpoints. */
import { Context, Effect, Layer, Redacted, Result, SchemaIssue } from "effect"
import { HttpMethod, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { Settings, TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import * as Nesting from "@atropos/core/base/json/Nesting"
import { anyRole, Auth, tokenOf } from "../http/Auth.ts"
import * as Nul from "../http/Nul.ts"
import * as RequestBody from "../http/RequestBody.ts"
import * as SubmissionBody from "../submission/SubmissionBody.ts"

/** Requires a token with one of the endpoint's roles. */
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

/** Names the invalid field, in the wire's spelling. */
export const requestErrors: Layer.Layer<TrajectoryApi.RequestErrors> = HttpApiMiddleware.layerSchemaErrorTransform(
  TrajectoryApi.RequestErrors,
  (error) => {
    const [issue] = format(error.cause.issue).issues
    const message = issue?.message ?? error.cause.message
    if (error.kind === "Body" || error.kind === "ResponseHeaders") {
      return Effect.andThen(
        Effect.logError("response does not match its schema", error.cause),
        Effect.fail(new ApiError.Internal({ message: "the service's response does not match its schema" }))
      )
    }
    if (message.includes(notJson)) return Effect.fail(new ApiError.BadRequest({ message: "the body is not JSON" }))
    const field = (issue?.path ?? [])
      .map((segment) => Settings.wireName(String(typeof segment === "object" ? segment.key : segment)))
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

/** Endpoints with binary bodies, by the end of their path, with the type they accept besides JSON. */
const packedTypes: { readonly [end: string]: { readonly type: string; readonly isJsonToo: boolean } } = {
  "/:run/groups": { type: TrajectoryApi.packedContentType, isJsonToo: true },
  "/batches/:id/logprobs": { type: TrajectoryApi.logprobsContentType, isJsonToo: false }
}

const packedTypeOf = (path: string) => Object.entries(packedTypes).find(([end]) => path.endsWith(end))?.[1]
type PackedType = ReturnType<typeof packedTypeOf>

/** Web pages can send other types, or none, without a preflight. */
const isTyped = ({ headers }: HttpServerRequest.HttpServerRequest, packed: PackedType): boolean => {
  const hasBody = Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined
  const type = (headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase()
  return !hasBody || (type === "application/json" && packed?.isJsonToo !== false) || type === packed?.type
}

const untyped = (input: string | undefined, packed: PackedType) => {
  const right = [...(packed?.isJsonToo === false ? [] : ["application/json"]), ...(packed ? [packed.type] : [])].join(
    " or "
  )
  const message = `Content-Type: expected ${right},  ${input === undefined ? "but none was sent" : `not ${input}`}`
  return refusal(400, "BadRequest", message, { field: "Content-Type" })
}

/** Max bytes of bodies decoded by a schema; submissions have separate limits (`RequestBody`). */
const maxBytesOf: { readonly [end: string]: number } = {
  "/state/:environment": 8 * 1024 * 1024,
  "/pieces": 8 * 1024 * 1024,
  "/metrics": 4 * 1024 * 1024,
  "/report": 4 * 1024 * 1024,
  "/evaluations/:id/samples": 16 * 1024 * 1024
}

const refusal = (status: number, error: string, message: string, more: { readonly field?: string | undefined } = {}) =>
  HttpServerResponse.jsonUnsafe({ error, message, ...more }, { status })

const unavailable = (message: string, seconds: number) =>
  HttpServerResponse.jsonUnsafe(
    { error: "Unavailable", message, retry_after_seconds: seconds },
    { status: 503, headers: { "retry-after": String(seconds) } }
  )

const mayHoldNul = /\/(?:pieces|state\/:environment|evaluations\/:id\/samples)$/

/** Reads and checks the body of a form before it is parsed; handlers then get it as text. */
const readForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, path: string) {
  const [, max] = Object.entries(maxBytesOf).find(([end]) => path.endsWith(end)) ?? []
  const body = yield* SubmissionBody.bytes(request, max ?? (yield* RequestBody.Limits).maxFormBytes)
  if (Nesting.isDeep(body)) {
    return yield* new ApiError.BadRequest({ message: "the body is nested too deeply" })
  }
  // Saved state, token text and samples are arbitrary text and stored as sent.
  if (!mayHoldNul.test(path) && Nul.isIn(body)) {
    return yield* new ApiError.BadRequest({ message: `the body contains ${Nul.description}` })
  }
  const text = Effect.succeed(new TextDecoder().decode(body))
  return Object.create(request, { text: { value: text } }) as HttpServerRequest.HttpServerRequest
})

/**
 * Returns true if the sender has a valid token; bodies of others are not read, since they would use up the shared
 * memory.
 */
const isKnown = (auth: Auth["Service"], request: HttpServerRequest.HttpServerRequest): Effect.Effect<boolean> =>
  auth.authorize(tokenOf(request), anyRole).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false)
  )

/** Rejects bodies with a wrong content type, and ones that are too large or nested too deeply. */
export const bodies = HttpRouter.middleware(
  Effect.map(
    Auth,
    (auth) => (route) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { path } = (yield* HttpRouter.RouteContext).route
        if (Nul.isInUrl(request.url)) return refusal(400, "BadRequest", `the URL contains ${Nul.description}`)
        const packed = packedTypeOf(path)
        if (!isTyped(request, packed)) return untyped(request.headers["content-type"], packed)
        if (packed !== undefined || !HttpMethod.hasBody(request.method)) return yield* route
        // The route rejects them before reading the body.
        if (!(yield* isKnown(auth, request))) return yield* route
        const read = yield* Effect.result(readForm(request, path))
        if (Result.isSuccess(read)) {
          return yield* Effect.provideService(route, HttpServerRequest.HttpServerRequest, read.success)
        }
        const error = read.failure
        switch (error._tag) {
          case "TooLarge":
            return refusal(413, error._tag, error.message)
          case "BadRequest":
            return refusal(400, error._tag, error.message, { field: error.field })
          case "Unavailable":
            return unavailable(error.message, error.retryAfterSeconds)
        }
      })
  )
)
