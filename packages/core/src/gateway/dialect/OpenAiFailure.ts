/**
 * Writes failures in the form of OpenAI's API: `{ "error": { "message", "type", "param", "code" } }`, with the statuses
 * from which the `openai` packages derive error classes and retries (408, 409, 429 and 5xx).
 */
import { Failure, type FailureReason, type WrittenFailure } from "./Dialect.ts"

interface Form {
  readonly status: number
  readonly type: string
  readonly code: string | null
}

const forms: { readonly [reason in FailureReason]: Form } = {
  invalid: { status: 400, type: "invalid_request_error", code: null },
  unsupported: { status: 400, type: "invalid_request_error", code: "unsupported_parameter" },
  noRoom: { status: 400, type: "invalid_request_error", code: "context_length_exceeded" },
  unknownPath: { status: 404, type: "invalid_request_error", code: "unknown_url" },
  unauthorized: { status: 401, type: "authentication_error", code: "invalid_api_key" },
  closed: { status: 404, type: "invalid_request_error", code: "session_closed" },
  tooLarge: { status: 413, type: "invalid_request_error", code: "request_too_large" },
  overloaded: { status: 429, type: "rate_limit_error", code: "overloaded" },
  timeout: { status: 504, type: "server_error", code: "timeout" },
  failed: { status: 500, type: "server_error", code: "server_error" }
}

export const write = ({ code, message, param, reason }: Failure): WrittenFailure => {
  const { status, type, ...defaults } = forms[reason]
  return { status, body: { error: { message, type, param: param ?? null, code: code ?? defaults.code } } }
}

export const invalid = (param: string, message: string): Failure =>
  new Failure({ reason: "invalid", param, message: `${param}: ${message}` })

export const unsupported = (param: string, message: string): Failure =>
  new Failure({ reason: "unsupported", param, message: `${param}: ${message}` })
