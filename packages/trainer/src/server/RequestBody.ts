/**
 * Reads JSON bodies of requests: an object within the size limit, declared as JSON (which a web page of another origin
 * cannot send without a preflight request). Errors are `OpenAiApiError`: 413 too large, 415 not declared as JSON, 400
 * anything else.
 */
import { BodyLimit, ExactJson } from "@atropos/core"
import { Context, Effect, type Scope } from "effect"
import { HttpServerRequest } from "effect/http"
import { invalid, OpenAiApiError } from "./OpenAiApiError.ts"
import * as Parameters from "./OpenAiApiParameters.ts"

/** Max body size, bytes. */
export const MaxBytes = Context.Reference<number>("@atropos/trainer/server/RequestBody/MaxBytes", {
  defaultValue: () => 16 * 1024 * 1024
})

const refused = (status: number, code: string, message: string): OpenAiApiError =>
  new OpenAiApiError({ status, type: "invalid_request_error", message, param: null, code })

const busy = new OpenAiApiError({
  status: 429,
  type: "rate_limit_error",
  message: "too many request bodies in memory: retry shortly",
  param: null,
  code: "overloaded",
  retryAfterMillis: 1000
})

/** The parameters of a request, without nulls. */
export const parameters: Effect.Effect<
  Parameters.Body,
  OpenAiApiError,
  HttpServerRequest.HttpServerRequest | Scope.Scope
> = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const limit = yield* MaxBytes
  const { "content-encoding": encoding, "content-type": type = "" } = request.headers
  if (!/^application\/json\b/i.test(type)) {
    return yield* refused(415, "unsupported_media_type", "send JSON, with the header content-type: application/json")
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return yield* refused(415, "unsupported_content_encoding", `bodies compressed with ${encoding} are not supported`)
  }
  const tooLarge = refused(413, "request_too_large", `the request body is larger than the ${limit} bytes allowed`)
  const notJson = invalid(null, "the body is not JSON, or incomplete", "invalid_json")
  const bytes = yield* BodyLimit.readJson(request, limit, {
    tooLarge: () => tooLarge,
    busy: () => busy,
    broken: () => notJson,
    excess: (what) => invalid(null, what, "invalid_json")
  })
  const json = yield* Effect.try({
    try: (): unknown => ExactJson.parseRequest(new TextDecoder().decode(bytes)),
    catch: () => notJson
  })
  return yield* Parameters.withoutNulls(json)
})
