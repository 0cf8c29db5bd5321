/**
 * The endpoints of a dialect: read a session's request, sample, and answer over HTTP.
 *
 * Every failure is written as the dialect's own error. Streamed answers are sent as the dialect's events as they
 * arrive.
 */
import { type Cause, Deferred, Effect, Exit, Predicate, Queue, type Scope, Stream } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import * as Body from "./Body.ts"
import {
  type Answered,
  type Dialect,
  Failure,
  type Head,
  type Stored,
  type Streamed,
  type Turn
} from "./dialect/Dialect.ts"
import type { Choice } from "../inference/backend/Inference.ts"
import { text as textOf } from "../trajectory/Message.ts"
import type { Asked, ChatHandler } from "./session/OpenSession.ts"

export interface Endpoint<To = ChatHandler> {
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: `/${string}`
  readonly handle: (
    to: To,
    limitBytes: number
  ) => Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    Failure,
    HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
  >
  readonly failure: Dialect<unknown>["failure"]
}

/** All endpoints of a dialect whose requests go to `path`. */
export const make = <Read>(path: `/${string}`, dialect: Dialect<Read>): ReadonlyArray<Endpoint> => {
  const { counting, failure, stored } = dialect
  const endpoints: Array<Endpoint> = [{ method: "POST", path, handle: sampled(dialect), failure }]
  if (counting !== undefined) {
    const handle: Endpoint["handle"] = Effect.fnUntraced(function* (session, limitBytes) {
      const request = yield* counting.decode(yield* Body.read(limitBytes), session.memory)
      return HttpServerResponse.jsonUnsafe(counting.answer(yield* session.countTokens(request)))
    })
    endpoints.push({ method: "POST", path: `${path}/count_tokens`, handle, failure })
  }
  if (stored !== undefined) {
    endpoints.push(
      { method: "GET", path: `${path}/:id`, handle: byId(stored.retrieve), failure },
      { method: "DELETE", path: `${path}/:id`, handle: byId(stored.remove), failure }
    )
  }
  return endpoints
}

/** Answers with the stored form of an earlier answer. */
const byId =
  (answer: Stored["retrieve"]): Endpoint["handle"] =>
  (session) =>
    HttpRouter.params.pipe(
      Effect.flatMap(({ id = "" }) => answer(id, session.memory)),
      Effect.map((body) => HttpServerResponse.jsonUnsafe(body))
    )

const sampled = <Read>(dialect: Dialect<Read>): Endpoint["handle"] =>
  Effect.fnUntraced(function* (session, limitBytes) {
    const body = yield* Body.read(limitBytes)
    const turn = yield* dialect
      .decode(body, session.memory)
      .pipe(Effect.tapError((failure) => Effect.sync(() => session.refused(failure))))
    const model =
      Predicate.hasProperty(body, "model") && typeof body.model === "string" ? body.model : session.modelName
    if (turn.isStreamed) return yield* streamed(dialect, session, turn, model)
    const { request, ignored } = turn
    const asked = yield* session.ask(request, ignored)
    return HttpServerResponse.jsonUnsafe(dialect.answer(turn, answeredOf(asked, model), session.memory), {
      headers: idHeaders(asked.id)
    })
  })

const headOf = ({ createdAtMillis, id }: Pick<Asked, "id" | "createdAtMillis">, model: string): Head => ({
  id,
  createdAt: Math.floor(createdAtMillis / 1000),
  model
})

const answeredOf = (asked: Asked, model: string): Answered => ({
  ...headOf(asked, model),
  chat: asked.chat,
  choices: asked.choices,
  usage: usageOf(asked.choices)
})

/**
 * Streams the answer as events. The response starts with the first text, so that a request that fails before has an
 * HTTP status; later failures are events. A disconnecting client closes the request's scope, which cancels sampling.
 */
const streamed = Effect.fnUntraced(function* <Read>(
  dialect: Dialect<Read>,
  session: ChatHandler,
  turn: Turn<Read>,
  model: string
) {
  const { ignored, request } = turn
  const frames = yield* Queue.unbounded<string, Cause.Done>()
  const first = yield* Deferred.make<void, Failure>()
  const said = { content: "", reasoning: "" }
  let begun: Head | undefined
  let events: Streamed | undefined
  const send = (all: ReadonlyArray<string>): void => {
    if (all.length === 0) return
    Queue.offerUnsafe(frames, all.join(""))
    Deferred.doneUnsafe(first, Exit.void)
  }
  const sampling = session
    .ask(request, ignored, {
      onStart: (asked) => {
        begun = headOf(asked, model)
        events = dialect.stream(turn, begun, session.memory)
      },
      onDelta: (delta) => {
        said.content += delta.content ?? ""
        said.reasoning += delta.reasoning ?? ""
        send(events?.delta(delta) ?? [])
      }
    })
    .pipe(
      Effect.flatMap((asked) => {
        const answered = answeredOf(asked, model)
        if (!goesOn(asked.choices[0], said)) return Effect.fail(notAsStreamed)
        events ??= dialect.stream(turn, answered, session.memory)
        send(events.end(answered))
        return Effect.void
      }),
      Effect.catchTag("Failure", (failure) =>
        Effect.suspend(() => {
          if (!Deferred.isDoneUnsafe(first)) return Deferred.fail(first, failure)
          send(events?.broken(failure) ?? [])
          return Effect.void
        })
      ),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("internal error while an answer was streamed", defect),
          Effect.suspend(() => {
            send(events?.broken(internal) ?? [])
            return Deferred.fail(first, internal)
          })
        )
      ),
      Effect.ensuring(Queue.end(frames))
    )
  yield* Effect.forkScoped(sampling)
  yield* Deferred.await(first)
  return HttpServerResponse.stream(Stream.encodeText(Stream.fromQueue(frames)), {
    contentType: "text/event-stream; charset=utf-8",
    headers: {
      ...(begun !== undefined && idHeaders(begun.id)),
      "cache-control": "no-cache",
      "x-accel-buffering": "no"
    }
  })
})

const internal = new Failure({ reason: "failed", message: "internal error; see the log of the gateway" })
const notAsStreamed = new Failure({
  reason: "failed",
  message: "the final answer differs from what was streamed; retry"
})

/** True if an answer starts with what was already streamed. */
const goesOn = (choice: Choice | undefined, said: { readonly content: string; readonly reasoning: string }): boolean =>
  choice === undefined
    ? said.content === "" && said.reasoning === ""
    : textOf(choice.message).startsWith(said.content) &&
      (choice.message.reasoning_content ?? "").startsWith(said.reasoning)

/** Request ids in the headers that the SDKs of OpenAI and Anthropic read. */
const idHeaders = (id: string) => ({ "x-request-id": `req_${id}`, "request-id": `req_${id}` })

/** The prompt counts once, for any number of choices. */
const usageOf = (choices: ReadonlyArray<Choice>): Answered["usage"] => ({
  promptTokens: choices[0]?.usage?.promptTokens ?? 0,
  completionTokens: choices.reduce((sum, { usage }) => sum + (usage?.completionTokens ?? 0), 0)
})

export const refused = (
  write: Dialect<unknown>["failure"],
  failure: Failure
): HttpServerResponse.HttpServerResponse => {
  const id = randomBytes(12).toString("hex")
  const { body, status } = write(failure, id)
  const { retryAfterMillis: wait } = failure
  return HttpServerResponse.jsonUnsafe(body, {
    status,
    headers: {
      ...idHeaders(id),
      ...(wait !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(wait / 1000))),
        "retry-after-ms": String(Math.ceil(wait))
      })
    }
  })
}
