/**
 * Reads a request's body as bytes within its limit, with a shared limit for all bodies of the process.
 *
 * A body is rejected as soon as it is known to be too large, by its Content-Length or while it arrives. A request holds
 * its bytes until it is answered; requests beyond the shared limit are asked to retry later.
 */
import { ByteSize, Context, Effect, type Scope } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import * as JsonBounds from "../base/json/JsonBounds.ts"

const mebibyte = 1024 * 1024

/** Bytes of bodies that this process holds. */
export const Held = Context.Reference<{ bytes: number }>("@atropos/core/http/BodyLimit/Held", {
  defaultValue: () => ({ bytes: 0 })
})

/** Max bytes of all bodies of this process that are being read or answered. */
export const MaxBytesAtOnce = Context.Reference<number>("@atropos/core/http/BodyLimit/MaxBytesAtOnce", {
  defaultValue: () => 512 * mebibyte
})

/** A request's share of the shared limit. */
export interface Share {
  /** Returns false, and takes nothing, if not enough is left. */
  readonly take: (bytes: number) => boolean
  readonly give: (bytes: number) => void
  readonly limitBytes: number
}

/** Returned when the scope closes. */
export const share = (limitBytes: number): Effect.Effect<Share, never, Scope.Scope> =>
  Effect.gen(function* () {
    const held = yield* Held
    let own = 0
    const take = (bytes: number): boolean => {
      if (held.bytes + bytes > limitBytes) return false
      held.bytes += bytes
      own += bytes
      return true
    }
    const give = (bytes: number): void => {
      held.bytes -= bytes
      own -= bytes
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => give(own)))
    return { take, give, limitBytes }
  })

/** Failures of an unread body. */
export interface Failures<E> {
  readonly tooLarge: () => E
  /** Other bodies use the whole shared limit: status 503 or 429. */
  readonly busy: (limitBytes: number) => E
  readonly broken: (cause: unknown) => E
}

/** The whole body, with its memory taken from `taken`. */
export const receive = <E>(
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  taken: Share,
  failures: Failures<E>
): Effect.Effect<Uint8Array, E> => {
  if (Number(request.headers["content-length"] ?? 0) > limit) return Effect.fail(failures.tooLarge())
  return request.source instanceof IncomingMessage && !request.source.readableEnded && !request.source.destroyed
    ? receiveStream(request.source, limit, taken, failures)
    : readAtOnce(request, limit, taken, failures)
}

/** Effect 4.0 reports this only in the cause. */
const isExceeded = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" &&
  (("reason" in reason && reason.reason === "BodyTooLarge") ||
    (reason.cause instanceof Error && reason.cause.message === "maxBytes exceeded"))

/** For other server types, such as a web handler in a test. */
const readAtOnce = <E>(
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  taken: Share,
  { broken, busy, tooLarge }: Failures<E>
): Effect.Effect<Uint8Array, E> =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limit)),
    Effect.mapError((error) => (isExceeded(error) ? tooLarge() : broken(error))),
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.filterOrFail(
      (body) => taken.take(body.length),
      () => busy(taken.limitBytes)
    )
  )

/** Memory for a body of a declared length is taken immediately up to this size; above, only as bytes arrive. */
const declaredBytes = 4 * mebibyte

/**
 * The whole body of a Node request: into memory allocated once, complete at its last byte instead of when its stream
 * closes.
 */
const receiveStream = <E>(
  source: IncomingMessage,
  limit: number,
  taken: Share,
  { broken, busy, tooLarge }: Failures<E>
): Effect.Effect<Uint8Array, E> =>
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
        // Remaining bytes are discarded, so that the rejection can be sent.
        source.on("error", () => source.destroy()).resume()
        return resume(Effect.fail(isTooLarge ? tooLarge() : busy(taken.limitBytes)))
      }
      // Node's parser never passes on more bytes than declared.
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
      resume(Effect.fail(broken(cause ?? new Error("the connection was closed"))))
    }
    source.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
    return Effect.sync(cleanUp)
  })

export const read = <E>(
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  failures: Failures<E>
): Effect.Effect<Uint8Array, E, Scope.Scope> =>
  Effect.gen(function* () {
    const taken = yield* share(yield* MaxBytesAtOnce)
    return yield* receive(request, limit, taken, failures)
  })

/** Additional memory of a JSON body while it is parsed: as text, and as the result. */
const parsedShare = 2

/**
 * The whole body of a JSON request, checked against structural limits; `excess` gets the exceeded one. Memory for its
 * text and parsed form is taken with it, and held as long.
 */
export const readJson = <E>(
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  failures: Failures<E> & { readonly excess: (what: string) => E },
  bounds: JsonBounds.Bounds = JsonBounds.defaults
): Effect.Effect<Uint8Array, E, Scope.Scope> =>
  Effect.gen(function* () {
    const taken = yield* share(yield* MaxBytesAtOnce)
    const body = yield* receive(request, limit, taken, failures)
    if (!taken.take(parsedShare * body.length)) return yield* Effect.fail(failures.busy(taken.limitBytes))
    const found = yield* JsonBounds.excess(body, bounds)
    if (found !== undefined) return yield* Effect.fail(failures.excess(`the body ${found}`))
    return body
  })
