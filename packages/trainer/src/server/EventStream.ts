/**
 * Streams pieces of completions as server-sent events. The response starts with the first piece, so that earlier
 * failures get an HTTP status; later ones are sent as an event. A disconnect closes the request's scope, which frees
 * the engine's rows.
 */
import { Effect, Option, type Scope, Sink, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type * as Completions from "./Completions.ts"
import type { EngineError } from "../engine/Engine.ts"
import * as Answers from "./OpenAiApiAnswers.ts"
import * as ApiError from "./OpenAiApiError.ts"

export interface Events<P extends Completions.Delta> {
  readonly pieces: Stream.Stream<P, EngineError>
  readonly toEvents: (piece: P) => Effect.Effect<string>
  /** Sent before `[DONE]`. */
  readonly last: () => string
  readonly toError: (error: EngineError) => ApiError.OpenAiApiError
}

export const respond = Effect.fnUntraced(function* <P extends Completions.Delta>({
  last,
  pieces,
  toError,
  toEvents
}: Events<P>): Effect.fn.Return<HttpServerResponse.HttpServerResponse, ApiError.OpenAiApiError, Scope.Scope> {
  const [first, rest] = yield* Stream.peel(pieces, Sink.head<P>()).pipe(Effect.mapError(toError))
  const events = Stream.fromIterable(Option.toArray(first)).pipe(
    Stream.concat(rest),
    Stream.mapEffect(toEvents),
    Stream.concat(Stream.suspend(() => Stream.make(last(), Answers.done))),
    Stream.catch((error) => Stream.make(Answers.event(ApiError.body(toError(error))), Answers.done)),
    Stream.encodeText
  )
  return HttpServerResponse.stream(events, {
    contentType: "text/event-stream",
    headers: {
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      ...(Option.isSome(first) && { "x-policy-version": String(first.value.policyVersion) })
    }
  })
})
