/**
 * Writes failures in the form of Anthropic's API: `{ type: "error", error: { type, message }, request_id }` with its
 * status codes.
 *
 * Clients retry after 429 and 5xx (529: overloaded), and stop at any other 4xx. Agents compact their history at a
 * message that begins with "prompt is too long".
 */
import { Failure, type FailureReason, type WrittenFailure } from "../Dialect.ts"

/** An invalid parameter (`messages.0.content.1`, as spelled by this API). */
export const invalid = (param: string, message: string): Failure =>
  new Failure({ reason: "invalid", param, message: `${param}: ${message}` })

export const unsupported = (param: string, message: string): Failure =>
  new Failure({ reason: "unsupported", param, message: `${param}: ${message}` })

const kinds: { readonly [reason in FailureReason]: readonly [status: number, type: string] } = {
  invalid: [400, "invalid_request_error"],
  unsupported: [400, "invalid_request_error"],
  noRoom: [400, "invalid_request_error"],
  unknownPath: [404, "not_found_error"],
  unauthorized: [401, "authentication_error"],
  closed: [404, "not_found_error"],
  tooLarge: [413, "request_too_large"],
  failed: [500, "api_error"],
  timeout: [504, "timeout_error"],
  overloaded: [529, "overloaded_error"]
}

/** Makes clients that keep their conversation on the server (`thread`) send all of it instead. */
const noThreads = { error_code: "thread_unsupported_request", unsupported: ["thread"] }

export const write = ({ message, param, reason }: Failure, requestId?: string): WrittenFailure => {
  const [status, type] = kinds[reason]
  return {
    status,
    body: {
      type: "error",
      error: {
        type,
        message: reason === "noRoom" ? `prompt is too long: ${message}` : message,
        ...(param === "thread" && { details: noThreads })
      },
      request_id: requestId === undefined ? null : `req_${requestId}`
    }
  }
}
