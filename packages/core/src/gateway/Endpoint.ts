/**
 * The endpoints of a dialect: read a session's request, sample, and answer over HTTP.
 *
 * Every failure is written as the dialect's own error. Streamed answers are sent as the dialect's events as they
 * arrive.
 */
import {
  type Cause,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Option,
  Predicate,
  Queue,
  Schedule,
  type Scope,
  Stream
} from "effect"
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
import type { Choice } from "../inference/wire/Inference.ts"
import { text as textOf } from "../trajectory/Message.ts"
import * as Frames from "./dialect/Frames.ts"
import type { Limits } from "./session/Limits.ts"
import type { Asked, ChatHandler } from "./session/OpenSession.ts"

export interface Endpoint<To = ChatHandler> {
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: `/${string}`
  readonly handle: (
    to: To,
    limits: Limits
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
    const handle: Endpoint["handle"] = Effect.fnUntraced(function* (session, limits) {
      const request = yield* counting.decode(yield* Body.read(limits.bodyBytes), session.memory)
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
  Effect.fnUntraced(function* (session, limits) {
    const noted = <A, R>(reading: Effect.Effect<A, Failure, R>): Effect.Effect<A, Failure, R> =>
      Effect.tapError(reading, (failure) => Effect.sync(() => session.refused(failure)))
    const body = yield* noted(Body.read(limits.bodyBytes))
    const turn = yield* noted(dialect.decode(body, session.memory))
    const model =
      Predicate.hasProperty(body, "model") && typeof body.model === "string" ? body.model : session.modelName
    if (turn.isStreamed) return yield* streamed({ dialect, session, turn, model, limits })
    return yield* whole({ dialect, session, turn, model, limits })
  })

interface Asking<Read> {
  readonly dialect: Dialect<Read>
  readonly session: ChatHandler
  readonly turn: Turn<Read>
  readonly model: string
  readonly limits: Limits
}

/**
 * The answer in one body. One that takes long begins with white space, which JSON allows, so that clients and proxies
 * do not give up; it has status 200 by then, so a failure breaks the connection off, and SDKs ask again.
 */
const whole = Effect.fnUntraced(function* <Read>({ dialect, limits, model, session, turn }: Asking<Read>) {
  const { ignored, request } = turn
  const written = (response: Asked): unknown => dialect.answer(turn, answeredOf(response, model), session.memory)
  const sampling = yield* Effect.forkScoped(session.ask(request, ignored, model))
  const response = yield* Effect.timeoutOption(Fiber.join(sampling), limits.responseBegins)
  if (Option.isSome(response)) {
    return HttpServerResponse.jsonUnsafe(written(response.value), { headers: idHeaders(response.value.id) })
  }
  const body = Effect.map(Fiber.join(sampling), (late) => JSON.stringify(written(late)))
  const spaces = Stream.map(Stream.tick(limits.keepAlive), () => " ")
  return HttpServerResponse.stream(
    Stream.encodeText(Stream.merge(spaces, Stream.fromEffect(body), { haltStrategy: "right" })),
    { contentType: "application/json" }
  )
})

const headOf = ({ createdAtMillis, id }: Pick<Asked, "id" | "createdAtMillis">, model: string): Head => ({
  id,
  createdAt: Math.floor(createdAtMillis / 1000),
  model
})

const answeredOf = (response: Asked, model: string): Answered => ({
  ...headOf(response, model),
  chat: response.chat,
  choices: response.choices,
  usage: usageOf(response.choices)
})

/**
 * Streams the answer as events. The response starts with the first text, or soon without it: a request that fails
 * before has an HTTP status; later failures are events. While there is no text, a frame without meaning is sent now and
 * then. A disconnecting client closes the request's scope, which cancels sampling.
 */
const streamed = Effect.fnUntraced(function* <Read>({ dialect, limits, model, session, turn }: Asking<Read>) {
  const { ignored, request } = turn
  const frames = yield* Queue.unbounded<string, Cause.Done>()
  const first = yield* Deferred.make<void, Failure>()
  const reply = { content: "", reasoning: "" }
  let begun: Head | undefined
  let events: Streamed | undefined
  let isSilent = true
  const send = (all: ReadonlyArray<string>): void => {
    if (all.length === 0) return
    isSilent = false
    Queue.offerUnsafe(frames, all.join(""))
    Deferred.doneUnsafe(first, Exit.void)
  }
  const sampling = session
    .ask(request, ignored, model, {
      onStart: (response) => {
        begun = headOf(response, model)
        events = dialect.stream(turn, begun, session.memory)
      },
      onDelta: (delta) => {
        reply.content += delta.content ?? ""
        reply.reasoning += delta.reasoning ?? ""
        send(events?.delta(delta) ?? [])
      }
    })
    .pipe(
      Effect.flatMap((response) => {
        const answered = answeredOf(response, model)
        if (!goesOn(response.choices[0], reply)) return Effect.fail(notAsStreamed)
        events ??= dialect.stream(turn, answered, session.memory)
        send(events.end(answered))
        return Effect.void
      }),
      Effect.catchTag("Failure", (failure) =>
        Effect.suspend(() => {
          if (!Deferred.isDoneUnsafe(first)) return Deferred.fail(first, failure)
          events ??= dialect.stream(turn, headOf(unknownAnswer(), model), session.memory)
          send(events.broken(failure))
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
  const beat = Effect.sync(() => {
    if (isSilent) send([events?.alive ?? Frames.comment])
    isSilent = true
  })
  const heart = Effect.sync(() => send(events?.begin() ?? [])).pipe(
    Effect.andThen(Effect.repeat(beat, Schedule.spaced(limits.keepAlive))),
    Effect.delay(limits.streamBegins)
  )
  yield* Effect.forkScoped(sampling)
  yield* Effect.forkScoped(heart)
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

/** Stands in for an answer that failed before it had an id. */
const unknownAnswer = () => ({ id: randomBytes(12).toString("hex"), createdAtMillis: 0 })

const internal = new Failure({ reason: "failed", message: "internal error; see the log of the gateway" })
const notAsStreamed = new Failure({
  reason: "failed",
  message: "the final answer differs from what was streamed; retry"
})

/** True if an answer starts with what was already streamed. */
const goesOn = (choice: Choice | undefined, reply: { readonly content: string; readonly reasoning: string }): boolean =>
  choice === undefined
    ? reply.content === "" && reply.reasoning === ""
    : textOf(choice.message).startsWith(reply.content) &&
      (choice.message.reasoning_content ?? "").startsWith(reply.reasoning)

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
