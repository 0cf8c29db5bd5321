/** Defines the errors of the original's requests and their responses, in the original's wording. */
import type { TrajectoryApiError, WireGroup } from "@atropos/core"
import * as LogThrottle from "@atropos/core/base/LogThrottle"
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Nul from "../http/Nul.ts"
import * as Reply from "../http/Reply.ts"
import type * as RequestBody from "../http/RequestBody.ts"
import * as StoreFaults from "../store/StoreFaults.ts"
import type { StoreError } from "../store/TrajectoryStore.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Errors before a handler has a response. */
export type Refusal =
  | RequestBody.BodyError
  | WireGroup.WireError
  | MissingBody
  | HasNul
  | StoreError
  | TrajectoryApiError.QueueFull

export class MissingBody {
  readonly _tag = "MissingBody"
}

/** A form has NUL in a text. */
export class HasNul {
  readonly _tag = "HasNul"
}

/** Asks for a retry. The original's environments try three times, then drop the group. */
const overloaded = (message: string, retryAfterSeconds: number): Response =>
  HttpServerResponse.setHeader(Reply.detail(503, message), "retry-after", `${retryAfterSeconds}`)

/** Max bytes of echoed input, so that errors cannot be used to amplify traffic. */
const maxEcho = 1_000_000

/** 422 with the mistakes, or 400 for invalid text. */
const wireError = (error: WireGroup.WireError): Response => {
  if (error.reason === "unreadable") return Reply.detail(400, "There was an error parsing the body")
  // Serialisation fails on values nested too deeply for recursion.
  const whole = Result.try(() => JSON.stringify({ detail: error.mistakes }))
  if (Result.isSuccess(whole) && whole.success.length <= maxEcho) {
    return Reply.jsonBytes(new TextEncoder().encode(whole.success), 422)
  }
  return Reply.json({ detail: error.mistakes.map((mistake) => ({ ...mistake, input: null })) }, 422)
}

const rejections = LogThrottle.make()

/** The original's environments log the status alone, and drop the group: the reason has to be in our log. */
const logRejected = ({ mistakes, reason }: WireGroup.WireError): Effect.Effect<void> =>
  Effect.suspend(() => {
    const [first] = mistakes
    if (reason === "unreadable" || first === undefined) return Effect.void
    const field = first.loc.filter((part) => typeof part === "string").join(".")
    const times = rejections.count(`${field} ${first.type}`)
    return LogThrottle.isWorthLogging(times)
      ? Effect.logWarning("request rejected", { field, reason: first.msg, times })
      : Effect.void
  })

const missingBody = Reply.json(
  { detail: [{ type: "missing", loc: ["body"], msg: "Field required", input: null }] },
  422
)

export const refuse = (refusal: Refusal): Effect.Effect<Response> => {
  switch (refusal._tag) {
    case "MissingBody":
      return Effect.succeed(missingBody)
    case "HasNul":
      return Effect.succeed(Reply.detail(400, `the body contains ${Nul.description}`))
    case "WireError":
      return Effect.as(logRejected(refusal), wireError(refusal))
    case "BodyTooLarge":
      return Effect.succeed(Reply.detail(413, refusal.message))
    case "BodiesTooMany":
      return Effect.succeed(overloaded(refusal.message, 1))
    case "InvalidEncoding":
      return Effect.succeed(Reply.text("Invalid gzip payload", 400))
    case "BodyInterrupted":
      return Effect.succeed(Reply.detail(400, refusal.message))
    case "QueueFull":
      return Effect.succeed(overloaded(refusal.message, refusal.retryAfterSeconds))
    case "StoreError":
      return Effect.as(
        StoreFaults.report(refusal),
        refusal.isTransient ? overloaded(refusal.message, 1) : Reply.text("Internal Server Error", 500)
      )
  }
}
