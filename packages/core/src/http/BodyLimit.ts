/** A request's body, no larger than a limit. */
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"

/** Effect 4.0 says so only in the cause. */
const isExceeded = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" &&
  (("reason" in reason && reason.reason === "BodyTooLarge") ||
    (reason.cause instanceof Error && reason.cause.message === "maxBytes exceeded"))

/** The whole body; it is larger than `limitBytes`, or did not arrive, where it fails. */
export const read = <TooLarge, Broken>(
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number,
  failures: { readonly tooLarge: () => TooLarge; readonly broken: (cause: unknown) => Broken }
): Effect.Effect<Uint8Array, TooLarge | Broken> =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limitBytes)),
    Effect.mapBoth({
      onFailure: (error) => (isExceeded(error) ? failures.tooLarge() : failures.broken(error)),
      onSuccess: (buffer) => new Uint8Array(buffer)
    })
  )
