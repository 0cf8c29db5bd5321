/**
 * Reads the body of a request: JSON within the size limit. Repeated keys are rejected, because a parser would silently
 * use one of them.
 */
import { Effect, type Scope } from "effect"
import { HttpServerRequest } from "effect/http"
import * as BodyLimit from "../http/BodyLimit.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as ExactJson from "../base/ExactJson.ts"
import * as RepeatedKeys from "../base/RepeatedKeys.ts"

const invalid = (message: string) => new Failure({ reason: "invalid", message })
const notJson = invalid("the body is not JSON in UTF-8, or did not arrive whole")

const busy = new Failure({
  reason: "overloaded",
  message: "the requests under way fill the room there is for bodies: send this again in a moment",
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
      return yield* invalid(`send the body as it is: bodies compressed with ${encoding} are not read here`)
    }
    const tooLarge = new Failure({
      reason: "tooLarge",
      message: `the request's body is larger than the ${limitBytes} bytes that it may have`
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
    if (repeated !== undefined) return yield* invalid(`the body says ${JSON.stringify(repeated)} twice in one object`)
    return json
  })
