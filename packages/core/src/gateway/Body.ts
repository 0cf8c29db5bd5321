/**
 * Reads the body of a request: JSON within the size limit. Repeated keys are rejected, because a parser would silently
 * use one of them.
 */
import { Effect, type Scope } from "effect"
import { HttpServerRequest } from "effect/http"
import * as BodyLimit from "../http/BodyLimit.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as RepeatedKeys from "../base/json/RepeatedKeys.ts"

const invalid = (message: string) => new Failure({ reason: "invalid", message })
const notJson = invalid("the body is not UTF-8 JSON, or incomplete")

const busy = new Failure({
  reason: "overloaded",
  message: "too many request bodies in memory: retry shortly",
  retryAfterMillis: 1000
})

export const read = (
  limitBytes: number
): Effect.Effect<unknown, Failure, HttpServerRequest.HttpServerRequest | Scope.Scope> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { "content-encoding": encoding, "content-type": type = "" } = request.headers
    if (!/^application\/json\b/i.test(type)) {
      return yield* invalid("send JSON, with the header content-type: application/json")
    }
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
      return yield* invalid(`send the body uncompressed: ${encoding} is not supported`)
    }
    const tooLarge = new Failure({
      reason: "tooLarge",
      message: `the request body exceeds the limit of ${limitBytes} bytes`
    })
    const bytes = yield* BodyLimit.readJson(request, limitBytes, {
      tooLarge: () => tooLarge,
      busy: () => busy,
      broken: () => notJson,
      excess: invalid
    })
    const [text, json] = yield* Effect.try({
      try: (): readonly [string, unknown] => {
        const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
        return [text, ExactJson.parseRequest(text)]
      },
      catch: () => notJson
    })
    const repeated = RepeatedKeys.find(text)
    if (repeated !== undefined)
      return yield* invalid(`the body has the key ${JSON.stringify(repeated)} twice in one object`)
    return json
  })
