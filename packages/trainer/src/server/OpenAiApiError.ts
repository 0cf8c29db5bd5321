/**
 * Errors in OpenAI's format: `{ "error": { "message", "type", "param", "code" } }`, with HTTP statuses that the
 * `openai` packages map to their error classes. `param` names the parameter. An overloaded engine gives 429 with
 * `Retry-After` in whole seconds and `retry-after-ms`, which the packages prefer.
 */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { EngineError } from "../engine/Engine.ts"
import type { PromptError } from "./ServedPolicy.ts"

export class OpenAiApiError extends Schema.TaggedError<OpenAiApiError>()("OpenAiApiError", {
  status: Schema.Int,
  type: Schema.String,
  message: Schema.String,
  param: Schema.NullOr(Schema.String),
  code: Schema.NullOr(Schema.String),
  retryAfterMillis: Schema.optionalKey(Schema.Finite)
}) {}

/** 400: the request is invalid. */
export const invalid = (param: string | null, message: string, code: string | null = null): OpenAiApiError =>
  new OpenAiApiError({ status: 400, type: "invalid_request_error", message, param, code })

export const unsupported = (param: string, message: string): OpenAiApiError =>
  invalid(param, message, "unsupported_parameter")

export const notFound = (message: string, param: string | null = null, code: string | null = null): OpenAiApiError =>
  new OpenAiApiError({ status: 404, type: "invalid_request_error", message, param, code })

export const unauthorized = (message: string): OpenAiApiError =>
  new OpenAiApiError({ status: 401, type: "authentication_error", message, param: null, code: "invalid_api_key" })

export const forbidden = (message: string): OpenAiApiError =>
  new OpenAiApiError({ status: 403, type: "permission_error", message, param: null, code: "forbidden" })

export const unavailable = (message: string): OpenAiApiError =>
  new OpenAiApiError({ status: 503, type: "server_error", message, param: null, code: "unavailable" })

/** Converts an engine error to the request's error; `prompt` is the name of the prompt's parameter. */
export const fromEngine =
  (prompt: string) =>
  (error: EngineError): OpenAiApiError => {
    const { message } = error
    switch (error._tag) {
      case "PromptTooLong":
        return invalid(prompt, message, "context_length_exceeded")
      case "InvalidRequest":
        return invalid(
          wireNames[error.field] ?? (error.field === "promptTokens" ? prompt : error.field),
          message.startsWith(error.field)
            ? message.replace(error.field, wireNames[error.field] ?? error.field)
            : message
        )
      case "UnknownPolicy":
        return notFound(
          `the model \`${error.policy}\` does not exist; loaded are: ${error.loaded.join(", ")}`,
          "model",
          "model_not_found"
        )
      case "EngineOverloaded":
        return new OpenAiApiError({
          status: 429,
          type: "rate_limit_error",
          message,
          param: null,
          code: "engine_overloaded",
          retryAfterMillis: error.retryAfterMillis
        })
      case "EngineFailed":
        return new OpenAiApiError({ status: 500, type: "server_error", message, param: null, code: "engine_failed" })
    }
  }

/** Converts an error in building or tokenizing the prompt. */
export const fromPrompt =
  (prompt: string) =>
  ({ isTooLong = false, message }: PromptError): OpenAiApiError =>
    invalid(prompt, message, isTooLong ? "context_length_exceeded" : null)

const wireNames: { readonly [field: string]: string } = {
  maxTokens: "max_tokens",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  schema: "response_format",
  repetitionPenalty: "repetition_penalty",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  logitBias: "logit_bias",
  stopTokenIds: "stop_token_ids",
  topLogprobs: "top_logprobs",
  policy: "model"
}

/** Body of an error, also used within streams. */
export const body = ({ code, message, param, type }: OpenAiApiError) => ({ error: { message, type, param, code } })

export const toResponse = (error: OpenAiApiError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body(error), {
    status: error.status,
    headers: {
      ...(error.retryAfterMillis !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(error.retryAfterMillis / 1000))),
        "retry-after-ms": String(Math.ceil(error.retryAfterMillis))
      }),
      ...(error.status === 401 && { "www-authenticate": "Bearer" })
    }
  })

export const answered = <R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, OpenAiApiError, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catchTag(handler, "OpenAiApiError", (error) => Effect.succeed(toResponse(error)))
