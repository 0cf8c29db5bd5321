/** Reads the bodies of the original's requests, and answers those that cannot be read or served. */
import { WireGroup } from "@atropos/core"
import { Effect, type Result, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Nul from "../http/Nul.ts"
import * as RequestBody from "../http/RequestBody.ts"
import * as StoreFaults from "../store/StoreFaults.ts"
import type { QueueFull, StoreError } from "../store/TrajectoryStore.ts"
import * as Reply from "../http/Reply.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Refusals a request can meet before its handler has an answer. */
export type Refusal = RequestBody.BodyError | WireGroup.WireError | MissingBody | HasNul | StoreError | QueueFull

/** There is no body where one is asked for. */
class MissingBody {
  readonly _tag = "MissingBody"
}

/** A form has the character 0 in a text. */
class HasNul {
  readonly _tag = "HasNul"
}

const isJson = (request: Request): boolean =>
  /^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")

const decoder = new TextDecoder()

/** Of a body that is no JSON, as much is told back. */
const maxText = 65_536

/** The body's bytes; what is not said to be JSON is a plain string to the original, and never what it should be. */
export const jsonBytes = (
  request: Request,
  maxBytes?: number
): Effect.Effect<Uint8Array, RequestBody.BodyError | MissingBody, Scope.Scope> =>
  Effect.flatMap(
    RequestBody.bytes(request, { encoding: RequestBody.gzipOf(request), ...(maxBytes !== undefined && { maxBytes }) }),
    (body) => {
      if (body.length === 0) return Effect.fail(new MissingBody())
      if (isJson(request)) return Effect.succeed(body)
      return Effect.succeed(new TextEncoder().encode(JSON.stringify(decoder.decode(body.subarray(0, maxText)))))
    }
  )

/** The body as one of the small forms. */
export const form = <A>(request: Request, read: (json: unknown) => Result.Result<A, WireGroup.WireError>) =>
  RequestBody.Limits.pipe(
    Effect.flatMap(({ maxFormBytes }) => jsonBytes(request, maxFormBytes)),
    Effect.filterOrFail(
      (bytes) => !Nul.isIn(bytes),
      () => new HasNul()
    ),
    Effect.flatMap((bytes) => Effect.fromResult(WireGroup.parse(bytes))),
    Effect.flatMap(({ notFinite, value }) =>
      Effect.fromResult(read(value)).pipe(
        Effect.filterOrFail(
          () => !notFinite,
          () => notFiniteForm
        )
      )
    )
  )

const notFiniteForm = new WireGroup.WireError({
  reason: "invalid",
  details: [{ type: "finite_number", loc: ["body"], msg: "Input should be a finite number", input: null }]
})

/** The answer to a refusal. */
export const refuse = (refusal: Refusal): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  switch (refusal._tag) {
    case "MissingBody":
      return Effect.succeed(Reply.missingBody)
    case "HasNul":
      return Effect.succeed(Reply.detail(400, `the body holds ${Nul.name}`))
    case "WireError":
      return Effect.succeed(Reply.wireError(refusal))
    case "BodyTooLarge":
      return Effect.succeed(Reply.detail(413, refusal.message))
    case "BodiesTooMany":
      return Effect.succeed(Reply.overloaded(refusal.message, 1))
    case "InvalidEncoding":
      return Effect.succeed(Reply.text("Invalid gzip payload", 400))
    case "BodyInterrupted":
      return Effect.succeed(Reply.detail(400, refusal.message))
    case "QueueFull":
      return Effect.succeed(Reply.overloaded(refusal.message, refusal.retryAfterSeconds))
    case "StoreError":
      return Effect.as(
        StoreFaults.tell(refusal),
        refusal.isTransient ? Reply.overloaded(refusal.message, 1) : Reply.text("Internal Server Error", 500)
      )
  }
}
