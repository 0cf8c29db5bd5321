/**
 * Sends HTTP requests to inference servers: connections, JSON both ways, and the mapping of failures.
 *
 * Answers are limited in size (`AnswerBody`), and redirects are not followed, so prompts and keys only go to the
 * configured address. No retries and no timeout (Node's five minutes for the first header are disabled: a long
 * generation sends nothing until it is done); `ServerManager` handles both. Interrupting a request closes its
 * connection, which makes servers stop generating.
 */
import { Clock, Effect, Schema, type Scope, Stream } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as KeyOrder from "../../base/json/KeyOrder.ts"
import * as Reason from "../../base/Reason.ts"
import { HttpClientRequest } from "effect/http"
import { InferenceError, type InferenceFailure } from "./Inference.ts"
import * as RetryAfter from "../../http/RetryAfter.ts"
import * as AnswerBody from "./AnswerBody.ts"

export interface Question {
  /** Name of the server in errors. */
  readonly server: string
  readonly url: string
  /** Empty: no key is sent. */
  readonly apiKey: string
}

export interface JsonRequest extends Question {
  readonly method: "GET" | "POST" | "DELETE"
  readonly body?: { readonly [key: string]: unknown }
}

export interface JsonReply {
  readonly body: unknown
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
}

export interface Transport {
  /** The text of a page. */
  readonly text: (question: Question) => Effect.Effect<string, InferenceError>
  readonly json: (request: JsonRequest) => Effect.Effect<JsonReply, InferenceError>
  /** Like `json`, with an answer read line by line; `take` returns why a line is rejected, which ends the request. */
  readonly lines: (
    request: JsonRequest,
    take: (line: string) => string | undefined
  ) => Effect.Effect<Pick<JsonReply, "headers">, InferenceError>
  /**
   * Succeeds with any answer except those that mean that the server is down (default: 5xx): a server that rejects a
   * request is up.
   */
  readonly isThere: (question: Question, isDown?: (status: number) => boolean) => Effect.Effect<void, InferenceError>
  /** For clients with their own protocol: a fetch over the same connections. */
  readonly fetch: typeof globalThis.fetch
}

export const make: Effect.Effect<Transport, never, Scope.Scope> = Effect.gen(function* () {
  const [NodeHttpClient, Undici] = yield* Effect.promise(() =>
    Promise.all([import("@effect/platform-node/NodeHttpClient"), import("@effect/platform-node/Undici")])
  )
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({ headersTimeout: 0, bodyTimeout: 0 })
  const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)

  const answerOf = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest, server: string) {
    const failed = (error: { readonly message: string; readonly cause?: unknown }) =>
      new InferenceError({
        reason: "unreachable",
        server,
        message: `${request.method} ${request.url}: ${Reason.root(error)}`,
        cause: error
      })
    const response = yield* Effect.mapError(client.execute(request), failed)
    const encoding = response.headers["content-encoding"] ?? "identity"
    if (encoding !== "identity") {
      return yield* malformed(
        server,
        `${request.method} ${request.url}: the answer is compressed (${encoding}), which was not requested`
      )
    }
    const bytes = yield* Effect.mapError(AnswerBody.read(response.status, response.stream), (error) =>
      error instanceof AnswerBody.Unacceptable ? unacceptable(server, request, error) : failed(error)
    )
    return { status: response.status, text: utf8.decode(bytes), headers: response.headers }
  })

  const successOf = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest, server: string) {
    const answer = yield* answerOf(request, server)
    const { headers, status, text: body } = answer
    if (status >= 200 && status < 300) return answer
    const now = yield* Clock.currentTimeMillis
    const [location, retryAfter] = [headers["location"], headers["retry-after"]]
    return yield* statusError({ server, url: request.url, status, body, location, retryAfter, now })
  })

  return {
    text: ({ apiKey, server, url }) =>
      Effect.map(successOf(authorized(HttpClientRequest.get(url), apiKey), server), ({ text }) => text),
    json: Effect.fn("Transport.json")(function* ({ apiKey, body, method, server, url }: JsonRequest) {
      const bare = HttpClientRequest.make(method)(url)
      const request = authorized(body === undefined ? bare : withBody(bare, body), apiKey)
      const { headers, text } = yield* successOf(request, server)
      const flaw = AnswerBody.flaw(text)
      if (flaw !== undefined) return yield* unacceptable(server, { method, url }, flaw)
      const parsed = yield* Effect.mapError(parseJson(text), () =>
        malformed(server, `${method} ${url}: the answer is not JSON: ${shortened(text)}`)
      )
      return { body: parsed, headers }
    }),
    lines: Effect.fn("Transport.lines")(function* ({ apiKey, body = {}, method, server, url }: JsonRequest, take) {
      const bare = withBody(HttpClientRequest.make(method)(url), body)
      const request = HttpClientRequest.accept(authorized(bare, apiKey), "text/event-stream")
      const failed = (error: { readonly message: string }) =>
        new InferenceError({
          reason: "unreachable",
          server,
          message: `${method} ${url}: ${Reason.root(error)}`,
          cause: error
        })
      const response = yield* Effect.mapError(client.execute(request), failed)
      const { headers, status } = response
      if (status < 200 || status >= 300) {
        const bytes = yield* Effect.mapError(AnswerBody.read(status, response.stream), failed)
        const now = yield* Clock.currentTimeMillis
        const [location, retryAfter] = [headers["location"], headers["retry-after"]]
        return yield* statusError({ server, url, status, body: utf8.decode(bytes), location, retryAfter, now })
      }
      const cutter = AnswerBody.lines()
      let problem: string | undefined
      const takeAll = (all: ReadonlyArray<string>): void => {
        for (const line of all) problem ??= take(line)
      }
      yield* AnswerBody.limited(response.stream, (bytes) => takeAll(cutter.take(bytes))).pipe(
        Stream.takeUntil(() => problem !== undefined),
        Stream.runDrain,
        Effect.mapError((error) =>
          error instanceof AnswerBody.Unacceptable ? unacceptable(server, { method, url }, error) : failed(error)
        )
      )
      takeAll(cutter.end())
      if (problem !== undefined) return yield* malformed(server, `${method} ${url}: ${problem}`)
      return { headers }
    }),
    isThere: Effect.fn("Transport.isThere")(function* ({ apiKey, server, url }, isDown = isServerError) {
      const { status, text } = yield* answerOf(authorized(HttpClientRequest.get(url), apiKey), server)
      yield* isDown(status) ? Effect.fail(statusError({ server, url, status, body: text, now: 0 })) : Effect.void
    }),
    fetch: ((input: string, init: { readonly signal?: AbortSignal }) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const { body, headers, status } = yield* Effect.tryPromise({
            try: () => Undici.fetch(input, { ...init, dispatcher, redirect: "manual" }),
            catch: (cause) => cause
          })
          const bytes =
            body === null
              ? null
              : yield* AnswerBody.read(
                  status,
                  Stream.fromReadableStream({
                    // Undici declares Node's own streams, whose types differ slightly from the platform's.
                    evaluate: () => body as ReadableStream<Uint8Array>,
                    onError: (cause) => cause
                  })
                )
          const flaw = bytes === null ? undefined : AnswerBody.flaw(utf8.decode(bytes))
          if (flaw !== undefined) return yield* Effect.fail(flaw)
          return new Response(bytes, { status, headers: Array.from(headers) })
        }),
        init.signal === undefined ? {} : { signal: init.signal }
      )) as unknown as typeof globalThis.fetch
  }
})

const utf8 = new TextDecoder()

export const unacceptable = (
  server: string,
  { method, url }: { readonly method: string; readonly url: string },
  { message }: AnswerBody.Unacceptable
): InferenceError => malformed(server, `${method} ${url}: ${message}`)

const isServerError = (status: number): boolean => status >= 500

const authorized = (request: HttpClientRequest.HttpClientRequest, apiKey: string) =>
  apiKey === "" ? request : HttpClientRequest.bearerToken(request, apiKey)

/** Preserves the key order of tools. */
const withBody = (request: HttpClientRequest.HttpClientRequest, body: { readonly [key: string]: unknown }) =>
  KeyOrder.isMoved(body["tools"])
    ? HttpClientRequest.bodyText(request, ExactJson.write(body) ?? "", "application/json")
    : HttpClientRequest.bodyJsonUnsafe(request, body)

const parseJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** The failure for an HTTP status; `now` is the reference for a Retry-After date. */
export const statusError = (answer: {
  readonly server: string
  readonly url: string
  readonly status: number
  readonly body: string
  readonly location?: string | null | undefined
  readonly retryAfter?: string | null | undefined
  readonly now: number
}): InferenceError => {
  const { body, location, now, retryAfter, server, status, url } = answer
  const wait = RetryAfter.millis(retryAfter, now)
  const detail =
    status >= 300 && status < 400
      ? `${location ? `a redirect to ${shortened(location)}` : "a redirect"}, which is not followed: set base_url to the final address`
      : shortened(body) || "(no text)"
  return new InferenceError({
    reason: reasonOf(status),
    server,
    status,
    message: `${url} answered ${status}: ${detail}`,
    ...(wait === undefined ? {} : { retryAfterMillis: wait })
  })
}

const reasonOf = (status: number): InferenceFailure => {
  if (status === 429 || status === 503) return "overloaded"
  if (status === 408) return "timeout"
  return status >= 500 ? "failed" : "rejected"
}

/** The failure for an answer that violates the protocol. */
export const malformed = (server: string, message: string): InferenceError =>
  new InferenceError({ reason: "malformed", server, message })

/** The first 300 characters of a server's message. */
export const shortened = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text).trim()
