/**
 * Sends single HTTP requests to a Tinker server, and maps statuses to errors. Retries are in `Patience`.
 *
 * The key is only sent in a header: errors contain texts, not requests. Responses have a size limit.
 */
import * as AnswerBody from "@atropos/core/inference/wire/AnswerBody"
import * as Reason from "@atropos/core/base/Reason"
import * as RetryAfter from "@atropos/core/http/RetryAfter"
import { Clock, Effect, Option, Predicate, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Future from "../protocol/Future.ts"
import * as Paths from "../protocol/Paths.ts"
import type { Address } from "./Address.ts"
import { TinkerError, type TinkerFailure } from "./TinkerError.ts"

export type Body = { readonly json: unknown } | { readonly bytes: Uint8Array; readonly encoding: "zstd" | undefined }

export interface Ask {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: Body
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  readonly isBinary: boolean
  readonly bytes: Uint8Array
  readonly retryAfterMillis: number | undefined
}

export interface Traffic {
  requests: number
  bytesSent: number
  bytesReceived: number
}

export interface Transport {
  readonly server: string
  /** Fails with `unavailable` without a response. */
  readonly send: (ask: Ask) => Effect.Effect<Reply, TinkerError>
  readonly traffic: Traffic
}

/** The protocol is that of the official client of this version. */
export const sdkVersion = "0.38.0"

/** Above the largest possible result: 1,024 data of 32,768 tokens with two numbers each. */
const maxBytes = 512 * 2 ** 20

/** Longer than a server holds a poll. */
const answerWithin = "90 seconds"

const utf8 = new TextDecoder()

/** Describes a wrong address, for which retries are pointless; OpenSSL's own messages are unclear. */
const wrongAddress = (url: string, why: string): string | undefined => {
  if (/wrong version number|packet length too long/.test(why)) {
    return `${url} does not use https: --engine tinker+${url.replace("https:", "http:")}`
  }
  if (/^Parse Error|HTTPParserError|Invalid header/.test(why) && url.startsWith("http:")) {
    return `${url} does not answer in HTTP (${why}): if it uses https, --engine tinker+${url.replace("http:", "https:")}`
  }
  return /certificate|altnames/i.test(why)
    ? `the certificate of ${url} is not trusted: ${why}; set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority`
    : undefined
}

export const make = Effect.fn("Transport.make")(function* ({ apiKey, url }: Address) {
  const client = yield* HttpClient.HttpClient
  const traffic: Traffic = { requests: 0, bytesSent: 0, bytesReceived: 0 }
  const unavailable = (ask: Ask, why: string) => {
    const mistake = wrongAddress(url, why)
    return mistake === undefined
      ? new TinkerError({ reason: "unavailable", server: url, message: `${ask.method} ${url}${ask.path}: ${why}` })
      : new TinkerError({ reason: "address", server: url, message: mistake })
  }

  const requestOf = ({ body, headers, method, path }: Ask) => {
    const bare = HttpClientRequest.make(method)(`${url}${path}`).pipe(
      HttpClientRequest.setHeaders({
        accept: "application/json",
        "user-agent": "atropos",
        ...headers,
        ...(apiKey && { "x-api-key": Redacted.value(apiKey) })
      })
    )
    if (body === undefined) return { request: bare, size: 0 }
    if ("json" in body) {
      const text = JSON.stringify(body.json)
      return { request: HttpClientRequest.bodyText(bare, text, "application/json"), size: text.length }
    }
    const request = HttpClientRequest.bodyUint8Array(bare, body.bytes, Paths.binary)
    return {
      request: body.encoding ? HttpClientRequest.setHeader(request, "content-encoding", body.encoding) : request,
      size: body.bytes.length
    }
  }

  const send = Effect.fnUntraced(function* (ask: Ask) {
    const { request, size } = requestOf(ask)
    traffic.requests++
    traffic.bytesSent += size
    const response = yield* client.execute(request)
    const bytes = yield* AnswerBody.read(response.status, response.stream, maxBytes)
    traffic.bytesReceived += bytes.length
    const now = yield* Clock.currentTimeMillis
    return {
      status: response.status,
      isBinary: (response.headers["content-type"] ?? "").includes(Paths.binary),
      bytes,
      retryAfterMillis: RetryAfter.millis(response.headers["retry-after"], now)
    } satisfies Reply
  })

  return {
    server: url,
    traffic,
    send: (ask) =>
      send(ask).pipe(
        Effect.mapError((cause) =>
          cause instanceof AnswerBody.Unacceptable
            ? new TinkerError({ reason: "malformed", server: url, message: `${url}${ask.path}: ${cause.message}` })
            : unavailable(ask, Reason.root(cause))
        ),
        Effect.timeoutOrElse({
          duration: answerWithin,
          orElse: () => Effect.fail(unavailable(ask, `no answer within ${answerWithin}`))
        })
      )
  } satisfies Transport
})

const reasonOf = (status: number): TinkerFailure => {
  switch (status) {
    case 401:
    case 403:
      return "unauthorized"
    case 402:
      return "unpaid"
    case 404:
      return "gone"
    case 410:
      return "expired"
    case 429:
      return "overloaded"
    default:
      return status === 408 || status >= 500 ? "unavailable" : "refused"
  }
}

/** One of FastAPI's validation errors: location and message. */
const Complaint = Schema.Struct({ loc: Schema.Array(Schema.Unknown), msg: Schema.String })
const decodeComplaints = Schema.decodeUnknownOption(Schema.Array(Complaint))
const decodeDetail = Schema.decodeUnknownOption(Schema.fromJsonString(Future.Detail))
const decodeFailed = Schema.decodeUnknownOption(Schema.fromJsonString(Future.Failed))

const textOf = (bytes: Uint8Array): string => {
  const text = utf8.decode(bytes)
  const failed = decodeFailed(text)
  if (Option.isSome(failed)) return failed.value.error
  const detail = Option.map(decodeDetail(text), ({ detail }) => detail)
  if (Option.isNone(detail)) return text.slice(0, 300).trim() || "(no text)"
  if (Predicate.isString(detail.value)) return detail.value
  return Option.match(decodeComplaints(detail.value), {
    onNone: () => JSON.stringify(detail.value).slice(0, 300),
    onSome: (all) => all.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")
  })
}

/** Hint at the key's source, unless the server's message contains it. */
const hintOf = (status: number, text: string): string =>
  (status === 401 || status === 403) && !text.includes("TINKER_API_KEY") ? " (the key is from TINKER_API_KEY)" : ""

/** The error for a status other than 200. */
export const refusal = (server: string, path: string, { bytes, retryAfterMillis, status }: Reply): TinkerError =>
  new TinkerError({
    reason: reasonOf(status),
    server,
    status,
    message: `${server}${path} answered ${status}: ${textOf(bytes)}${hintOf(status, textOf(bytes))}`,
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

export const json = <A>(
  server: string,
  path: string,
  codec: Schema.Codec<A, unknown>,
  { bytes }: Reply
): Effect.Effect<A, TinkerError> => {
  const text = utf8.decode(bytes)
  const malformed = (why: string) =>
    new TinkerError({ reason: "malformed", server, message: `${server}${path}: ${why}` })
  const flaw = AnswerBody.flaw(text)
  if (flaw !== undefined) return Effect.fail(malformed(flaw.message))
  return Effect.mapError(Schema.decodeUnknownEffect(Schema.fromJsonString(codec))(text), ({ message }) =>
    malformed(`the answer violates the protocol: ${message}`)
  )
}
