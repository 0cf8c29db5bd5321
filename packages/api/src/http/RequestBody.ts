/**
 * Reads request bodies completely as bytes, decompressed if necessary, with size limits.
 *
 * A body is refused as soon as it is known to be too large: by Content-Length, while it arrives, or during
 * decompression (a gzip bomb takes no more memory than the limit). All but small bodies are decompressed on another
 * thread. All requests of a process share a byte budget from arrival to response; requests beyond it get a retry
 * response.
 */
import * as BodyLimit from "@atropos/core/http/BodyLimit"
import { Context, Effect, Schema, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as zlib from "node:zlib"

export interface Limits {
  /** Bytes on the wire. */
  readonly maxBodyBytes: number
  /** Bytes after decompression. */
  readonly maxDecodedBytes: number
  /** Bytes of a small form: a registration, a claim, an id. */
  readonly maxFormBytes: number
  /** Total bytes of all bodies being read or stored. */
  readonly maxBytesAtOnce: number
  readonly maxGroups: number
  /** Bytes of one group; a stored row is limited to 16 MiB. */
  readonly maxGroupBytes: number
  readonly maxSequences: number
  readonly maxTokensPerSequence: number
}

const mebibyte = 1024 * 1024

export const Limits = Context.Reference<Limits>("@atropos/api/RequestBody/Limits", {
  defaultValue: () => ({
    maxBodyBytes: 64 * mebibyte,
    maxDecodedBytes: 128 * mebibyte,
    maxFormBytes: mebibyte / 4,
    maxBytesAtOnce: 512 * mebibyte,
    maxGroups: 4096,
    maxGroupBytes: 15 * mebibyte,
    maxSequences: 4096,
    maxTokensPerSequence: 1_048_576
  })
})

/** Bytes of bodies held by this process, including its other servers. */
export const Held = BodyLimit.Held

/** The body is larger than allowed: 413. */
export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {
  what: Schema.String,
  limitBytes: Schema.Int
}) {
  override get message(): string {
    return `${this.what} is larger than the ${this.limitBytes} bytes allowed`
  }
}

/** Other bodies use up the memory for bodies: 503. */
export class BodiesTooMany extends Schema.TaggedError<BodiesTooMany>()("BodiesTooMany", { limitBytes: Schema.Int }) {
  override get message(): string {
    return `the bodies of current requests use all ${this.limitBytes} bytes: retry shortly`
  }
}

/** The body is not in its declared encoding: 400. */
export class InvalidEncoding extends Schema.TaggedError<InvalidEncoding>()("InvalidEncoding", {
  encoding: Schema.Literals(["gzip", "zstd"])
}) {}

/** The client disconnected while its body was read. */
export class BodyInterrupted extends Schema.TaggedError<BodyInterrupted>()("BodyInterrupted", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export type BodyError = BodyTooLarge | BodiesTooMany | InvalidEncoding | BodyInterrupted

/** Encoding of a body. The original's endpoints only support gzip. */
export type Encoding = "gzip" | "zstd"

/** Limits of a body, for example those of a small form (`maxFormBytes`), and its encoding. */
export interface Expected {
  readonly maxBytes?: number
  readonly encoding?: Encoding | undefined
}

/** The body, decompressed. Its memory counts until the scope closes. */
export const bytes = (
  request: HttpServerRequest.HttpServerRequest,
  { encoding, maxBytes = Infinity }: Expected = {}
): Effect.Effect<Uint8Array, BodyError, Scope.Scope> =>
  Effect.gen(function* () {
    const limits = yield* Limits
    const limit = Math.min(limits.maxBodyBytes, maxBytes)
    const taken = yield* BodyLimit.share(limits.maxBytesAtOnce)
    const body = yield* BodyLimit.receive<BodyError>(request, limit, taken, {
      tooLarge: () => bodyTooLarge(limit),
      busy: () => tooMany(taken),
      broken: interrupted
    })
    return encoding === undefined
      ? body
      : yield* decompress(body, encoding, Math.min(limits.maxDecodedBytes, maxBytes), taken)
  })

const bodyTooLarge = (limitBytes: number) => new BodyTooLarge({ what: "the request body", limitBytes })
const interrupted = (cause: unknown) => new BodyInterrupted({ message: "the body is incomplete", cause })
const tooMany = ({ limitBytes }: BodyLimit.Share) => new BodiesTooMany({ limitBytes })

/** `Content-Encoding` for endpoints that only support gzip. */
export const gzipOf = ({ headers }: HttpServerRequest.HttpServerRequest): "gzip" | undefined =>
  (headers["content-encoding"]?.toLowerCase().includes("gzip") ?? false) ? "gzip" : undefined

/** Smaller bodies are cheaper to decompress synchronously than on another thread (at most 4 MiB result). */
const atOnceBytes = 4096

/**
 * Typical ratio of numbers and text; above it the whole limit is reserved, so that few such bodies exhaust the budget.
 */
const usualRatio = 16

const decompress = Effect.fnUntraced(function* (
  body: Uint8Array,
  encoding: Encoding,
  limit: number,
  taken: BodyLimit.Share
) {
  if (body.length === 0) return body
  const attempt = Effect.fnUntraced(function* (room: number) {
    if (!taken.take(room)) return yield* tooMany(taken)
    return yield* inflate(body, encoding, room, limit).pipe(
      Effect.tap((decoded) => Effect.sync(() => taken.give(room - decoded.length))),
      Effect.tapError(() => Effect.sync(() => taken.give(room)))
    )
  })
  const expected = Math.min(limit, body.length * usualRatio + 65_536)
  const first = attempt(expected)
  return yield* expected === limit ? first : Effect.catchTag(first, "BodyTooLarge", () => attempt(limit))
})

/** Decompresses at most `room` bytes; the error names the limit. */
const inflate = (
  body: Uint8Array,
  encoding: Encoding,
  room: number,
  limitBytes: number
): Effect.Effect<Uint8Array, BodyTooLarge | InvalidEncoding> => {
  const failed = (cause: unknown) =>
    isTooLarge(cause)
      ? new BodyTooLarge({ what: "the decompressed request body", limitBytes })
      : new InvalidEncoding({ encoding })
  const options = { maxOutputLength: room, chunkSize: 256 * 1024 }
  if (encoding === "gzip" && body.length <= atOnceBytes) {
    return Effect.try({ try: () => zlib.gunzipSync(body, options), catch: failed })
  }
  return Effect.callback((resume) => {
    const done = (error: Error | null, decoded: Uint8Array) =>
      resume(error === null ? Effect.succeed(decoded) : Effect.fail(failed(error)))
    if (encoding === "gzip") zlib.gunzip(body, options, done)
    else zlib.zstdDecompress(body, { maxOutputLength: room }, done)
  })
}

const isTooLarge = (cause: unknown): boolean => cause instanceof RangeError
