/**
 * Request bodies as bytes: read whole, decompressed where the sender compressed them, never larger than allowed.
 *
 * A body is refused as soon as it is known to be too large: by its Content-Length, while it arrives, or while it is decompressed
 * (a gzip bomb costs no more memory than the limit). Decompression of anything but small bodies runs on another thread.
 */
import { ByteSize, Context, Effect, Schema } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import { gunzip, gunzipSync, type ZlibOptions } from "node:zlib"

/** How much one request may bring. */
export interface Limits {
  /** Bytes on the wire. */
  readonly maxBodyBytes: number
  /** Bytes after decompression. */
  readonly maxDecodedBytes: number
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
    maxGroups: 4096,
    maxGroupBytes: 15 * mebibyte,
    maxSequences: 4096,
    maxTokensPerSequence: 1_048_576
  })
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

/** The body says it is gzip, and is not: 400. */
export class InvalidGzip extends Schema.TaggedError<InvalidGzip>()("InvalidGzip", { message: Schema.String }) {}

/** The sender went away while its body was read. */
export class BodyInterrupted extends Schema.TaggedError<BodyInterrupted>()("BodyInterrupted", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export type BodyError = BodyTooLarge | InvalidGzip | BodyInterrupted

/** The body as it should be read, decompressed. */
export const bytes = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Uint8Array, BodyError> =>
  Effect.flatMap(Limits, (limits) => {
    const tooLarge = () => bodyTooLarge(limits.maxBodyBytes)
    if (Number(request.headers["content-length"] ?? 0) > limits.maxBodyBytes) return Effect.fail(tooLarge())
    const read =
      request.source instanceof IncomingMessage && !request.source.readableEnded && !request.source.destroyed
        ? receive(request.source, limits.maxBodyBytes)
        : request.arrayBuffer.pipe(
            Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limits.maxBodyBytes)),
            Effect.mapBoth({
              onFailure: (error) =>
                error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
                  ? tooLarge()
                  : interrupted(error),
              onSuccess: (buffer) => new Uint8Array(buffer)
            })
          )
    return isGzip(request) ? Effect.flatMap(read, (body) => decompress(body, limits.maxDecodedBytes)) : read
  })

const bodyTooLarge = (limitBytes: number) => new BodyTooLarge({ what: "the request body", limitBytes })
const interrupted = (cause: unknown) => new BodyInterrupted({ message: "the body did not arrive whole", cause })

/** Memory for a body of a declared length is taken at once up to here; above, only as bytes arrive. */
const declaredBytes = 4 * mebibyte

/** The whole body of a request of Node's: into memory taken once, ready at its last byte and not when its stream is closed. */
const receive = (source: IncomingMessage, limit: number): Effect.Effect<Uint8Array, BodyTooLarge | BodyInterrupted> =>
  Effect.callback((resume) => {
    const declared = Number(source.headers["content-length"] ?? -1)
    const whole = declared > 0 && declared <= declaredBytes ? Buffer.allocUnsafeSlow(declared) : undefined
    const parts: Array<Buffer> = []
    let received = 0
    const cleanUp = () => {
      source.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
    }
    const onData = (part: Buffer) => {
      if (received + part.length > limit) {
        cleanUp()
        // What still comes is let go, so that the refusal can be answered.
        source.on("error", () => source.destroy()).resume()
        return resume(Effect.fail(bodyTooLarge(limit)))
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

const isGzip = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["content-encoding"]?.toLowerCase().includes("gzip") ?? false

/** Up to here decompressing at once is cheaper than going to another thread (at most 4 MiB come out of it). */
const atOnceBytes = 4096

const decompress = (body: Uint8Array, limit: number): Effect.Effect<Uint8Array, BodyTooLarge | InvalidGzip> => {
  if (body.length === 0) return Effect.succeed(body)
  const options: ZlibOptions = { maxOutputLength: limit, chunkSize: 256 * 1024 }
  const failed = (cause: unknown) =>
    isTooLarge(cause)
      ? new BodyTooLarge({ what: "the decompressed request body", limitBytes: limit })
      : new InvalidGzip({ message: "Invalid gzip payload" })
  if (body.length <= atOnceBytes) return Effect.try({ try: () => gunzipSync(body, options), catch: failed })
  return Effect.callback((resume) => {
    gunzip(body, options, (error, decoded) =>
      resume(error === null ? Effect.succeed(decoded) : Effect.fail(failed(error)))
    )
  })
}

const isTooLarge = (cause: unknown): boolean =>
  cause instanceof RangeError && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE"
