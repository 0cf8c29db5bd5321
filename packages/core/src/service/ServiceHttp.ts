/**
 * Requests to a trajectory service, with every failure as a `TrajectoryError`.
 *
 * Never retries: that is up to the caller, who knows the cost of a second attempt.
 */
import { Clock, Duration, Effect, Redacted, Schema, type Scope } from "effect"
import { HttpBody, HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { TrajectoryError } from "./TrajectoryError.ts"
import * as Reason from "../base/Reason.ts"
import * as RetryAfter from "../http/RetryAfter.ts"

export interface Options {
  /** The service's address, e.g. `http://127.0.0.1:8000`, including any prefix it is mounted under. */
  readonly url: string
  /** Bearer token, if the service requires one. */
  readonly token?: Redacted.Redacted | string
  /** Timeout of any answer (in addition to a claim's waiting time). Default: 30 seconds. */
  readonly timeout?: Duration.Input
}

/** A completely read answer. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  readonly bytes: Uint8Array
}

export interface ServiceHttp {
  /** Describes a request for messages. */
  readonly where: (request: HttpClientRequest.HttpClientRequest) => string
  /** A client for paths of the service; answers are read completely, within the timeout, and error statuses fail. */
  readonly whole: HttpClient.HttpClient.With<TrajectoryError | HttpClientError.HttpClientError>
  readonly send: (
    request: HttpClientRequest.HttpClientRequest,
    options?: { readonly extraTime?: Duration.Duration }
  ) => Effect.Effect<Answer, TrajectoryError>
  readonly bodyFor: <A, I>(
    schema: Schema.Codec<A, I>
  ) => (value: A) => Effect.Effect<HttpBody.HttpBody, TrajectoryError>
  /** Sends, and decodes the JSON body with this schema. */
  readonly sendFor: <A, I>(
    schema: Schema.Codec<A, I>
  ) => (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<A, TrajectoryError>
  /** An answer that stays open. */
  readonly open: (
    request: HttpClientRequest.HttpClientRequest
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, TrajectoryError, Scope.Scope>
}

/** The body of an error; one without a `message` is of another server. */
const ErrorBody = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.optionalKey(Schema.String),
    field: Schema.optionalKey(Schema.String),
    retry_after_seconds: Schema.optionalKey(Schema.Finite)
  })
)
const decodeErrorBody = Schema.decodeUnknownOption(ErrorBody)
const utf8 = new TextDecoder()

const reasonOf = (status: number, retryAfter: number | undefined): TrajectoryError["reason"] => {
  switch (status) {
    case 401:
    case 403:
      return "unauthorized"
    case 404:
      return "notFound"
    case 405:
    case 501:
      return "unsupported"
    case 409:
      return "leaseLost"
    case 429:
      return "overloaded"
    case 503:
      return retryAfter === undefined ? "unreachable" : "overloaded"
    default:
      return status >= 500 ? "unreachable" : "rejected"
  }
}

const bodyFor: ServiceHttp["bodyFor"] = (schema) => {
  const encode = Schema.encodeEffect(Schema.fromJsonString(Schema.toCodecJson(schema)))
  return (value) =>
    Effect.map(
      Effect.mapError(
        encode(value),
        (cause) =>
          new TrajectoryError({ reason: "rejected", message: `cannot encode the request: ${cause.message}`, cause })
      ),
      (json) => HttpBody.text(json, "application/json")
    )
}

const fromStatus = Effect.fnUntraced(function* (where: string, answer: Answer) {
  const text = utf8.decode(answer.bytes.subarray(0, 2000))
  const body = decodeErrorBody(text)
  const details = body._tag === "Some" ? body.value : {}
  const header = answer.headers["retry-after"] ?? details.retry_after_seconds?.toString()
  const retryAfter = RetryAfter.millis(header, yield* Clock.currentTimeMillis)
  const field = details.field === undefined ? "" : ` (field ${details.field})`
  if (answer.status === 404 && details.message === undefined) {
    return yield* new TrajectoryError({
      reason: "unsupported",
      message: `${where} answered 404, so no trajectory service with the /v1 API is there (the Python original has none). Start one with: atropos api`
    })
  }
  return yield* new TrajectoryError({
    reason: reasonOf(answer.status, retryAfter),
    message: `${where} answered ${answer.status}: ${details.message ?? (text.trim() === "" ? "no text" : text.trim())}${field}`,
    ...(retryAfter === undefined ? undefined : { retryAfterMillis: retryAfter })
  })
})

const causeText = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if (cause instanceof AggregateError) return cause.errors.map(causeText).join("; ")
  const inner = cause.cause === undefined ? "" : causeText(cause.cause)
  return [cause.message, inner].filter((text) => text !== "").join(": ")
}

/** The error for an answer that violates the protocol. */
export const unreadable = (where: string, cause: { readonly message: string }): TrajectoryError =>
  new TrajectoryError({
    reason: "unsupported",
    message: `${where} sent an invalid answer: ${Reason.oneLine(cause)}`,
    cause
  })

export const fromTransport =
  (where: string) =>
  (error: HttpClientError.HttpClientError): TrajectoryError =>
    new TrajectoryError({
      reason:
        error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError" ? "rejected" : "unreachable",
      message: `${where} is unreachable: ${"cause" in error.reason && error.reason.cause !== undefined ? causeText(error.reason.cause) : error.message}`,
      cause: error
    })

export const make = Effect.fnUntraced(function* (options: Options) {
  const token = typeof options.token === "string" ? Redacted.make(options.token) : options.token
  const base = options.url.replace(/(?<!\/)\/+$/, "")
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequest((request) => {
      const sent = HttpClientRequest.prependUrl(request, base)
      return token === undefined ? sent : HttpClientRequest.bearerToken(sent, token)
    })
  )
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
  const where = (request: HttpClientRequest.HttpClientRequest) =>
    `${request.method} ${request.url.startsWith("/") ? base : ""}${request.url}`

  const late = (request: HttpClientRequest.HttpClientRequest, after: Duration.Duration) =>
    new TrajectoryError({
      reason: "unreachable",
      message: `${where(request)} did not answer within ${Duration.format(after)}`
    })

  const read = (response: HttpClientResponse.HttpClientResponse) =>
    Effect.map(response.arrayBuffer, (buffer): Answer => ({
      status: response.status,
      headers: response.headers,
      bytes: new Uint8Array(buffer)
    }))

  /** A successful answer, read completely: its body can then be read again. */
  const answered = <E extends HttpClientError.HttpClientError>(
    answer: Effect.Effect<HttpClientResponse.HttpClientResponse, E>,
    request: HttpClientRequest.HttpClientRequest,
    limit: Duration.Duration
  ): Effect.Effect<HttpClientResponse.HttpClientResponse, TrajectoryError> =>
    answer.pipe(
      Effect.tap((response) => response.arrayBuffer),
      Effect.mapError(fromTransport(where(request))),
      Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(late(request, limit)) }),
      Effect.filterOrElse(
        ({ status }) => status >= 200 && status < 300,
        (response) => refused(request, response)
      )
    )

  const refused = (
    request: HttpClientRequest.HttpClientRequest,
    response: HttpClientResponse.HttpClientResponse
  ): Effect.Effect<never, TrajectoryError> =>
    read(response).pipe(
      Effect.mapError(fromTransport(where(request))),
      Effect.flatMap((answer) => fromStatus(where(request), answer))
    )

  const whole = HttpClient.transform(client, (answer, request) => answered(answer, request, timeout))

  const send: ServiceHttp["send"] = (request, sendOptions) => {
    const limit = sendOptions?.extraTime === undefined ? timeout : Duration.sum(timeout, sendOptions.extraTime)
    return answered(client.execute(request), request, limit).pipe(
      Effect.flatMap(read),
      Effect.mapError((error) => (error._tag === "TrajectoryError" ? error : fromTransport(where(request))(error)))
    )
  }

  const sendFor: ServiceHttp["sendFor"] = (schema) => {
    const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.toCodecJson(schema)))
    return (request) =>
      Effect.flatMap(send(request), ({ bytes }) =>
        Effect.mapError(decode(utf8.decode(bytes)), (cause) => unreadable(where(request), cause))
      )
  }

  const open: ServiceHttp["open"] = (request) =>
    client.execute(request).pipe(
      Effect.mapError(fromTransport(where(request))),
      Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(late(request, timeout)) }),
      Effect.filterOrElse(
        ({ status }) => status === 200,
        (response) => refused(request, response)
      )
    )

  return { where, whole, send, bodyFor, sendFor, open } satisfies ServiceHttp
})
