/**
 * Sends requests to the adapter endpoints of inference servers: JSON in, text out, errors that state if a retry may
 * help.
 */
import * as AnswerBody from "@atropos/core/inference/wire/AnswerBody"
import { Effect, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { TargetError } from "./Target.ts"

export interface Options {
  /** `http://host:port`; a trailing version (`/v1`) is removed. */
  readonly url: string
  readonly apiKey?: Redacted.Redacted
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** The message in the body, or the start of the body. */
  readonly reason: string
}

const Said = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.optionalKey(Schema.Struct({ message: Schema.optionalKey(Schema.String) })),
    message: Schema.optionalKey(Schema.String),
    error_message: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
)
const decodeSaid = Schema.decodeUnknownOption(Said)

const reasonIn = (text: string): string =>
  Option.match(decodeSaid(text), {
    onNone: () => text.slice(0, 300).trim(),
    onSome: ({ error, error_message: other, message }) =>
      error?.message ?? message ?? other ?? text.slice(0, 300).trim()
  })

/** Max response size; these endpoints answer with one line. */
const maxBytes = 2 ** 20
const utf8 = new TextDecoder()

export const rootOf = (url: string): string => url.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "")

/** Sends a request; returns the response regardless of its status, and fails only if none. */
const asker = Effect.fnUntraced(function* (target: string, { apiKey, url }: Options) {
  const client = yield* HttpClient.HttpClient
  const root = rootOf(url)
  return (
    method: "GET" | "POST",
    path: string,
    body?: { readonly [key: string]: unknown }
  ): Effect.Effect<Answer, TargetError> => {
    const bare = HttpClientRequest.make(method)(`${root}${path}`)
    const request = body === undefined ? bare : HttpClientRequest.bodyJsonUnsafe(bare, body)
    return client.execute(apiKey === undefined ? request : HttpClientRequest.bearerToken(request, apiKey)).pipe(
      Effect.flatMap((response) =>
        Effect.map(AnswerBody.read(response.status, response.stream, maxBytes), (bytes) => {
          const text = utf8.decode(bytes)
          return { status: response.status, text, reason: reasonIn(text) }
        })
      ),
      Effect.mapError(
        (cause) =>
          new TargetError({
            target,
            message: `${method} ${root}${path}: ${cause.message}`,
            isPermanent: false,
            cause
          })
      )
    )
  }
})

export const poster = Effect.fnUntraced(function* (target: string, options: Options) {
  const ask = yield* asker(target, options)
  return (path: string, body?: { readonly [key: string]: unknown }) => ask("POST", path, body)
})

export const getter = Effect.fnUntraced(function* (target: string, options: Options) {
  const ask = yield* asker(target, options)
  return (path: string) => ask("GET", path)
})

const decodeModels = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))
)

/** The models that a server lists: its own, and the adapters it has loaded. */
export const models = Effect.fnUntraced(function* (target: string, options: Options) {
  const get = yield* getter(target, options)
  return Effect.gen(function* () {
    const answer = yield* get("/v1/models")
    const list = decodeModels(answer.text)
    if (!isSuccess(answer) || Option.isNone(list)) {
      return yield* refused(target, "/v1/models", answer, "", "GET")
    }
    return list.value.data.map(({ id }) => id)
  })
})

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300

/** The error for a response; `advice` is appended. */
export const refused = (
  target: string,
  path: string,
  { reason, status }: Answer,
  advice = "",
  method: "GET" | "POST" = "POST"
): TargetError =>
  new TargetError({
    target,
    message: `${method} ${path} answered ${status}: ${reason || "(no text)"}${advice}`,
    isPermanent: status >= 400 && status < 500 && status !== 408 && status !== 429
  })
