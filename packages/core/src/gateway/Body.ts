/**
 * The body of a request: JSON, no larger than the limit, and read as what it says. A key that is given twice is
 * refused, for a parser would take one of them and say nothing.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import * as BodyLimit from "../http/BodyLimit.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as ExactJson from "../base/ExactJson.ts"
import * as Nesting from "../base/Nesting.ts"
import * as RepeatedKeys from "../base/RepeatedKeys.ts"

/** Lists and maps in one body: parsed, each takes a hundred bytes. */
const mostOpened = 1_000_000

const invalid = (message: string) => new Failure({ reason: "invalid", message })
const notJson = invalid("the body is not JSON in UTF-8, or did not arrive whole")

export const read = (limitBytes: number): Effect.Effect<unknown, Failure, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { "content-encoding": encoding, "content-length": length, "content-type": type = "" } = request.headers
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
    if (Number(length ?? 0) > limitBytes) return yield* tooLarge
    const bytes = yield* BodyLimit.read(request, limitBytes, { tooLarge: () => tooLarge, broken: () => notJson })
    if (Nesting.exceeds(bytes, { opened: mostOpened })) {
      return yield* invalid(
        `the body nests deeper than ${Nesting.mostLevels} levels, or has over ${mostOpened} lists and maps`
      )
    }
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
