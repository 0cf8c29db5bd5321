/**
 * What the versioned endpoints answer when they cannot do what was asked: JSON `{ "error": <tag>, "message": <text> }`
 * under the status of the class, with `field` where one value was wrong and `retry_after_seconds` (and the header
 * `Retry-After`) where trying again later makes sense.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** The request is not what HTTP, JSON or the packed format allow. */
export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  message: Schema.String,
  field: Schema.optionalKey(Schema.String)
}) {}

/** There is no token, or one nobody knows. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { message: Schema.String }) {}

/** The token is known, its role may not do this. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { message: Schema.String }) {}

/** No such run, environment, rollout, state or path. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { message: Schema.String }) {}

/** The batch was acknowledged, or its lease passed to another trainer. */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", { message: Schema.String }) {}

/** The run cannot be deleted: somebody is at work on it. */
export class RunInUse extends Schema.TaggedError<RunInUse>()("RunInUse", { message: Schema.String }) {}

/** The body is larger than the service takes, before or after decompression. */
export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", { message: Schema.String }) {}

/** The request is readable, but a value in it is wrong; `field` names it. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", {
  message: Schema.String,
  field: Schema.optionalKey(Schema.String)
}) {}

/** The queue holds as much as it may. */
export class QueueFull extends Schema.TaggedError<QueueFull>()("QueueFull", {
  message: Schema.String,
  retryAfterSeconds: Schema.Int
}) {}

/** The service cannot reach what it needs (its database), for the moment. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  message: Schema.String,
  retryAfterSeconds: Schema.Int
}) {}

/** Something is broken inside the service. */
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

/** What any endpoint may answer. */
export const common = [
  wire.BadRequest,
  wire.NotFound,
  wire.TooLarge,
  wire.Invalid,
  wire.Internal,
  wire.Unavailable
] as const

/** Any of them, as a value. */
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
