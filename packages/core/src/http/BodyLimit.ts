/** Whether a request's body could not be read because it is larger than `HttpIncomingMessage.MaxBodySize` allows. */
import type { HttpServerError } from "effect/http"

/** Effect 4.0 says so only in the cause. */
export const isExceeded = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" &&
  (("reason" in reason && reason.reason === "BodyTooLarge") ||
    (reason.cause instanceof Error && reason.cause.message === "maxBytes exceeded"))
