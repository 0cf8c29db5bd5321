/** Decodes requests and encodes responses of the Tinker server; errors are in FastAPI's format. */
import { BodyLimit } from "@atropos/core"
import * as JsonBounds from "@atropos/core/base/json/JsonBounds"
import { Context, Effect, Predicate, Result, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Paths from "../protocol/Paths.ts"
import { Refused } from "../service/Failures.ts"

export type Answer = HttpServerResponse.HttpServerResponse

/** Max body size, bytes. */
export const MaxBytes = Context.Reference<number>("@atropos/trainer/tinker/server/Http/MaxBytes", {
  defaultValue: () => 64 * 2 ** 20
})

/** The operation that a request is for, as far as its body names one; filled as the body is read. */
export interface Named {
  modelId?: string
  number?: number
  isForwardOnly?: boolean
}

export const Named = Context.Reference<Named>("@atropos/trainer/tinker/server/Http/Named", {
  defaultValue: () => ({})
})

export const name = (from: { readonly modelId: unknown; readonly number: unknown; readonly isForwardOnly?: boolean }) =>
  Effect.map(Named, (named) => {
    const { isForwardOnly = false, modelId, number } = from
    if (typeof modelId === "string" && modelId !== "") named.modelId = modelId
    if (typeof number === "number" && Number.isInteger(number) && number > 0 && number <= maxNumber) {
      named.number = number
    }
    named.isForwardOnly = isForwardOnly
  })

/** Max number of a client's models, sampling sessions and operations. */
export const maxNumber = 2 ** 31 - 1

const isJson = /^application\/json\b/i
const isBinary = /^application\/(x-)?protobuf\b/i

const unsupported = (message: string) => new Refused({ status: 415, message })

const broken = (message: string) => new Refused({ status: 400, message })
const busy = new Refused({
  status: 429,
  message: "too many request bodies in memory: retry later"
})

/** Data has millions of numbers in lists; other limits are the usual ones. */
const bounds: JsonBounds.Bounds = { ...JsonBounds.defaults, values: 4_000_000 }

/** The body of a request declared as this type; JSON is checked against its bounds. */
const bytesOf = (type: RegExp, target: string, maxBytes = Number.POSITIVE_INFINITY) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const limit = Math.min(maxBytes, yield* MaxBytes)
    const { "content-encoding": encoding, "content-type": input = "" } = request.headers
    if (!type.test(input))
      return yield* unsupported(`the body must be ${target}, not ${input === "" ? "unnamed" : input}`)
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
      return yield* unsupported(`bodies compressed with ${encoding} are not supported`)
    }
    const tooLarge = new Refused({
      status: 413,
      message: `the body is larger than the ${Math.floor(limit / 2 ** 20)} MiB allowed${limit < maxBytes ? " (--max_body_megabytes)" : ""}`
    })
    const failures = {
      tooLarge: () => tooLarge,
      busy: () => busy,
      broken: () => broken("the body is incomplete")
    }
    return yield* type === isJson
      ? BodyLimit.readJson(request, limit, { ...failures, excess: broken }, bounds)
      : BodyLimit.read(request, limit, failures)
  })

export const binary = bytesOf(isBinary, Paths.binary)

export const hasBinary = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  isBinary.test(headers["content-type"] ?? "")
)

export const wantsBinary = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  (headers["accept"] ?? "").includes(Paths.binary)
)

const parsed = Effect.fnUntraced(function* (maxBytes: number) {
  const bytes = yield* bytesOf(isJson, "application/json", maxBytes)
  const json = yield* Effect.try({
    try: (): unknown => JSON.parse(new TextDecoder().decode(bytes)),
    catch: () => new Refused({ status: 400, message: "the body is not JSON" })
  })
  if (Predicate.isReadonlyObject(json)) yield* name({ modelId: json["model_id"], number: json["seq_id"] })
  return { json, bytes: bytes.byteLength }
})

/** Max bytes of bodies without data or prompts. */
const formBytes = 2 ** 20

/** Decodes a body, and returns its size; errors state the path of the problem. */
export const body = <S extends Schema.Codec<unknown, unknown>>(schema: S, maxBytes = formBytes) => {
  const decode = Schema.decodeUnknownResult(schema)
  return Effect.gen(function* () {
    const { bytes, json } = yield* parsed(maxBytes)
    const result = decode(json)
    if (Result.isFailure(result)) {
      return yield* new Refused({ status: 422, message: result.failure.message.slice(0, 2000) })
    }
    return { value: result.success, bytes }
  })
}

export const bytes = (body: Uint8Array): Answer => HttpServerResponse.uint8Array(body, { contentType: Paths.binary })

export const json = (value: unknown, status = 200): Answer => HttpServerResponse.jsonUnsafe(value, { status })

/** Converts a rejection to a response; 429 includes the retry delay. */
export const toAnswer = ({ message, status }: Refused): Answer =>
  HttpServerResponse.jsonUnsafe(
    { detail: message },
    { status, ...(status === 429 && { headers: { "retry-after": "1" } }) }
  )
