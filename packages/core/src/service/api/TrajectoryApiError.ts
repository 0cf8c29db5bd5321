/**
 * Errors of the versioned endpoints: JSON `{ "error": <tag>, "message": <text> }` under the status of the class, with
 * `field` if one value was invalid and `retry_after_seconds` (and the header `Retry-After`) if a later retry makes
 * sense.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** The request violates HTTP, JSON or the packed format. */
export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  message: Schema.String,
  field: Schema.optionalKey(Schema.String)
}) {}

/** The token is missing or unknown. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { message: Schema.String }) {}

/** The token is known, but its role is not permitted. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { message: Schema.String }) {}

/** No such run, environment, rollout, state or path. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { message: Schema.String }) {}

/** The batch was acknowledged, or its lease passed to another trainer. */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", { message: Schema.String }) {}

/** The run cannot be deleted while it is in use. */
export class RunInUse extends Schema.TaggedError<RunInUse>()("RunInUse", { message: Schema.String }) {}

/** The body exceeds the service's limit, before or after decompression. */
export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", { message: Schema.String }) {}

/** The request is readable, but a value in it is invalid; `field` names it. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", {
  message: Schema.String,
  field: Schema.optionalKey(Schema.String)
}) {}

export class QueueFull extends Schema.TaggedError<QueueFull>()("QueueFull", {
  message: Schema.String,
  retryAfterSeconds: Schema.Int
}) {}

/** The service temporarily cannot reach its database. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  message: Schema.String,
  retryAfterSeconds: Schema.Int
}) {}

export class Internal extends Schema.TaggedError<Internal>()("Internal", { message: Schema.String }) {}

const RetryBody = <Tag extends string>(tag: Tag, status: number) =>
  Schema.Struct({
    error: Schema.Literal(tag),
    message: Schema.String,
    retry_after_seconds: Schema.Int
  }).pipe(HttpApiSchema.status(status))

/** The wire forms, with their statuses. */
export const wire = {
  BadRequest: BadRequest.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(400)),
  Unauthorized: Unauthorized.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(401)),
  Forbidden: Forbidden.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(403)),
  NotFound: NotFound.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(404)),
  LeaseLost: LeaseLost.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(409)),
  RunInUse: RunInUse.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(409)),
  TooLarge: TooLarge.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(413)),
  Invalid: Invalid.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(422)),
  QueueFull: QueueFull.pipe(
    HttpApiSchema.encodeToWithHeaders(
      { body: RetryBody("QueueFull", 429), headers: { "retry-after": Schema.Int } },
      {
        decode: ({ body }) => new QueueFull({ message: body.message, retryAfterSeconds: body.retry_after_seconds }),
        encode: ({ message, retryAfterSeconds }) => ({
          body: { error: "QueueFull" as const, message, retry_after_seconds: retryAfterSeconds },
          headers: { "retry-after": retryAfterSeconds }
        })
      }
    )
  ),
  Internal: Internal.pipe(Schema.encodeKeys({ _tag: "error" }), HttpApiSchema.status(500)),
  Unavailable: Unavailable.pipe(
    HttpApiSchema.encodeToWithHeaders(
      { body: RetryBody("Unavailable", 503), headers: { "retry-after": Schema.Int } },
      {
        decode: ({ body }) => new Unavailable({ message: body.message, retryAfterSeconds: body.retry_after_seconds }),
        encode: ({ message, retryAfterSeconds }) => ({
          body: { error: "Unavailable" as const, message, retry_after_seconds: retryAfterSeconds },
          headers: { "retry-after": retryAfterSeconds }
        })
      }
    )
  )
} as const

export const common = [
  wire.BadRequest,
  wire.NotFound,
  wire.TooLarge,
  wire.Invalid,
  wire.Internal,
  wire.Unavailable
] as const

export type TrajectoryApiError =
  | BadRequest
  | Unauthorized
  | Forbidden
  | NotFound
  | LeaseLost
  | RunInUse
  | TooLarge
  | Invalid
  | QueueFull
  | Unavailable
  | Internal
