/**
 * Request bodies as bytes: read whole, decompressed where the sender compressed them, never larger than allowed.
 *
 * A body is refused as soon as it is known to be too large: by its Content-Length, while it arrives, or while it is
 * decompressed (a gzip bomb costs no more memory than the limit). Decompression of anything but small bodies runs on
 * another thread.
 *
 * All requests of a process share one amount of bytes, which a request holds from the arrival of its body until it is
 * answered: what many bring at once is bounded too, and who comes then is asked to come again.
 */
import * as BodyLimit from "@atropos/core/http/BodyLimit"
import { Context, Effect, Schema, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import * as zlib from "node:zlib"

/** How much one request may bring. */
export interface Limits {
  /** Bytes on the wire. */
  readonly maxBodyBytes: number
  /** Bytes after decompression. */
  readonly maxDecodedBytes: number
  /** Bytes of a small form: a registration, a claim, an id. */
  readonly maxFormBytes: number
  /** Bytes of all bodies that are being read or stored. */
  readonly maxBytesAtOnce: number
  /** Groups in one list. */
  readonly maxGroups: number
  /** Bytes of one group; a stored row cannot be larger than 16 MiB. */
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

/** Bytes of bodies that this process holds. */
export const Held = Context.Reference<{ bytes: number }>("@atropos/api/RequestBody/Held", {
  defaultValue: () => ({ bytes: 0 })
})

/** The body is larger than allowed: 413. */
export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {
  /** What is too large. */
  what: Schema.String,
  limitBytes: Schema.Int
}) {
  override get message(): string {
    return `${this.what} is larger than the ${this.limitBytes} bytes allowed`
  }
}

/** Others' bodies take all the memory there is for bodies: 503. */
export class BodiesTooMany extends Schema.TaggedError<BodiesTooMany>()("BodiesTooMany", { limitBytes: Schema.Int }) {
  override get message(): string {
    return `the requests under way fill the ${this.limitBytes} bytes there are for bodies: send this again in a moment`
  }
}

/** The body says how it is compressed, and is not: 400. */
export class InvalidEncoding extends Schema.TaggedError<InvalidEncoding>()("InvalidEncoding", {
  encoding: Schema.Literals(["gzip", "zstd"])
}) {}

/** The sender went away while its body was read. */
export class BodyInterrupted extends Schema.TaggedError<BodyInterrupted>()("BodyInterrupted", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export type BodyError = BodyTooLarge | BodiesTooMany | InvalidEncoding | BodyInterrupted

/** What a request takes of the bytes there are for all. */
interface Share {
  /** False, and nothing taken, where so many are not left. */
  readonly take: (bytes: number) => boolean
  readonly give: (bytes: number) => void
  readonly limitBytes: number
}

const share: Effect.Effect<Share, never, Scope.Scope> = Effect.gen(function* () {
  const held = yield* Held
  const { maxBytesAtOnce } = yield* Limits
  let own = 0
  const take = (bytes: number): boolean => {
    if (held.bytes + bytes > maxBytesAtOnce) return false
    held.bytes += bytes
    own += bytes
    return true
  }
  const give = (bytes: number): void => {
    held.bytes -= bytes
    own -= bytes
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => give(own)))
  return { take, give, limitBytes: maxBytesAtOnce }
})

/** How a body is compressed. The original's endpoints know gzip alone. */
export type Encoding = "gzip" | "zstd"

/** A body may be a small form (`maxFormBytes`), or any number of bytes up to the limits. */
export interface Expected {
  readonly maxBytes?: number
  readonly encoding?: Encoding | undefined
}

/** The body as it should be read, decompressed. Its memory counts until the scope closes. */
export const bytes = (
  request: HttpServerRequest.HttpServerRequest,
  { encoding, maxBytes = Infinity }: Expected = {}
): Effect.Effect<Uint8Array, BodyError, Scope.Scope> =>
  Effect.gen(function* () {
    const limits = yield* Limits
    const limit = Math.min(limits.maxBodyBytes, maxBytes)
    if (Number(request.headers["content-length"] ?? 0) > limit) return yield* bodyTooLarge(limit)
    const taken = yield* share
    const body =
      request.source instanceof IncomingMessage && !request.source.readableEnded && !request.source.destroyed
        ? yield* receive(request.source, limit, taken)
        : yield* readAtOnce(request, limit, taken)
    return encoding === undefined
      ? body
      : yield* decompress(body, encoding, Math.min(limits.maxDecodedBytes, maxBytes), taken)
  })

const bodyTooLarge = (limitBytes: number) => new BodyTooLarge({ what: "the request body", limitBytes })
const interrupted = (cause: unknown) => new BodyInterrupted({ message: "the body did not arrive whole", cause })
const tooMany = ({ limitBytes }: Share) => new BodiesTooMany({ limitBytes })

/** Of another kind of server (a web handler in a test, say). */
const readAtOnce = (request: HttpServerRequest.HttpServerRequest, limit: number, taken: Share) =>
  BodyLimit.read(request, limit, { tooLarge: () => bodyTooLarge(limit), broken: interrupted }).pipe(
    Effect.filterOrFail(
      (body) => taken.take(body.length),
      () => tooMany(taken)
    )
  )

/** Memory for a body of a declared length is taken at once up to here; above, only as bytes arrive. */
const declaredBytes = 4 * mebibyte

/**
 * The whole body of a request of Node's: into memory taken once, ready at its last byte and not when its stream is
 * closed.
 */
const receive = (
  source: IncomingMessage,
  limit: number,
  taken: Share
): Effect.Effect<Uint8Array, BodyTooLarge | BodiesTooMany | BodyInterrupted> =>
  Effect.callback((resume) => {
    const declared = Number(source.headers["content-length"] ?? -1)
    const whole = declared > 0 && declared <= declaredBytes ? Buffer.allocUnsafeSlow(declared) : undefined
    const parts: Array<Buffer> = []
    let received = 0
    const cleanUp = () => {
      source.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
    }
    const onData = (part: Buffer) => {
      const isTooLarge = received + part.length > limit
      if (isTooLarge || !taken.take(part.length)) {
        cleanUp()
        // What still comes is let go, so that the refusal can be answered.
        source.on("error", () => source.destroy()).resume()
        return resume(Effect.fail(isTooLarge ? bodyTooLarge(limit) : tooMany(taken)))
      }
      // Node's parser lets no more bytes through than were declared.
      if (whole === undefined) parts.push(part)
      else whole.set(part, received)
      received += part.length
    }
    const onEnd = () => {
      cleanUp()
      resume(Effect.succeed(whole ?? Buffer.concat(parts)))
    }
    const onBroken = (cause?: Error) => {
      cleanUp()
      resume(Effect.fail(interrupted(cause ?? new Error("the connection was closed"))))
    }
    source.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
    return Effect.sync(cleanUp)
  })

/** What `Content-Encoding` says, for those who take gzip alone. */
export const gzipOf = ({ headers }: HttpServerRequest.HttpServerRequest): "gzip" | undefined =>
  (headers["content-encoding"]?.toLowerCase().includes("gzip") ?? false) ? "gzip" : undefined

/** Up to here decompressing at once is cheaper than going to another thread (at most 4 MiB come out of it). */
const atOnceBytes = 4096

/**
 * What comes out of numbers and text; beyond it the limit itself is reserved, so that few who send such at once fill
 * all there is.
 */
const usualRatio = 16

const decompress = Effect.fnUntraced(function* (body: Uint8Array, encoding: Encoding, limit: number, taken: Share) {
  if (body.length === 0) return body
  const attempt = Effect.fnUntraced(function* (room: number) {
    if (!taken.take(room)) return yield* tooMany(taken)
    return yield* inflate(body, encoding, room, limit).pipe(
      Effect.tap((decoded) => Effect.sync(() => taken.give(room - decoded.length))),
      Effect.tapError(() => Effect.sync(() => taken.give(room)))
    )
  })
  const usual = Math.min(limit, body.length * usualRatio + 65_536)
  const first = attempt(usual)
  return yield* usual === limit ? first : Effect.catchTag(first, "BodyTooLarge", () => attempt(limit))
})

/** At most `room` bytes; the failure speaks of the limit. */
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
