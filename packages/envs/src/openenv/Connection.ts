/**
 * Runs a session with an OpenEnv server over one socket, on which the server answers each message with one message, in
 * order. Uses the platform's `WebSocket`.
 *
 * A late answer would be taken for that of the next message, so the socket is closed on a timeout, and with the scope.
 * Messages of the server are validated.
 */
import { ExactJson } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Duration, Effect, Queue, Schema, type Scope, Semaphore } from "effect"
import type { Address } from "./Address.ts"
import { make as failed, OpenEnvError } from "./OpenEnvError.ts"

/** Response of reset and step. */
const Observed = Schema.Struct({
  observation: Schema.Record(Schema.String, Schema.Unknown),
  reward: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Finite, Schema.Boolean]))),
  done: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  metadata: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})

export interface Observed {
  readonly observation: { readonly [field: string]: unknown }
  /** Null if the server gives none. */
  readonly reward: number | null
  readonly done: boolean
  readonly metadata: { readonly [field: string]: unknown }
}

export interface Connection {
  readonly reset: (options: { readonly [name: string]: unknown }) => Effect.Effect<Observed, OpenEnvError>
  readonly step: (action: { readonly [name: string]: unknown }) => Effect.Effect<Observed, OpenEnvError>
  /** True if it can be used for another episode. */
  readonly isOpen: () => boolean
}

const Fault = Schema.Struct({
  message: Schema.optionalKey(Schema.String),
  code: Schema.optionalKey(Schema.String),
  errors: Schema.optionalKey(Schema.Array(Schema.Unknown))
})

const Reply = Schema.Union([
  Schema.Struct({ type: Schema.Literal("observation"), data: Observed }),
  Schema.Struct({ type: Schema.Literal("error"), data: Fault })
])
const decode = Schema.decodeUnknownEffect(Reply)
const decodeReply = (text: string) =>
  Effect.try({ try: () => ExactJson.parse(text), catch: (cause) => ({ message: Reason.of(cause) }) }).pipe(
    Effect.flatMap(decode)
  )

type Heard = { readonly text: string } | { readonly closed: string }

export interface Options {
  readonly address: Address
  /** Limit for the socket to open, and for every answer. */
  readonly timeout: Duration.Duration
  readonly headers: { readonly [name: string]: string }
}

const words = ({ code, reason }: CloseEvent): string => (reason === "" ? `code ${code}` : `code ${code}: ${reason}`)

/** The innermost error message of the platform. */
const innermost = (event: Event): string => {
  let error: unknown = "error" in event ? event.error : undefined
  while (error instanceof Error && error.cause instanceof Error) error = error.cause
  if (error instanceof AggregateError) error = error.errors[0]
  if (error instanceof Error && error.message !== "") return error.message
  return "message" in event && typeof event.message === "string" && event.message !== ""
    ? event.message
    : "no server there, or none that accepts WebSockets"
}

/** The socket once it is open; received messages go to the queue. */
const socketOf = ({ address, headers, timeout }: Options, heard: Queue.Queue<Heard>) =>
  Effect.acquireRelease(
    Effect.callback<WebSocket, OpenEnvError>((resume) => {
      const socket = new WebSocket(address.socket, { headers })
      let isOpen = false
      const refuse = (why: string) =>
        resume(Effect.fail(failed("unreachable", `no OpenEnv session at ${address.socket}: ${why}`)))
      socket.addEventListener("open", () => {
        isOpen = true
        resume(Effect.succeed(socket))
      })
      socket.addEventListener("message", ({ data }: MessageEvent) =>
        Queue.offerUnsafe(heard, { text: typeof data === "string" ? data : "a message that is not text" })
      )
      socket.addEventListener("error", (event) => {
        if (!isOpen) refuse(innermost(event))
      })
      socket.addEventListener("close", (event) => {
        if (!isOpen) refuse(words(event))
        Queue.offerUnsafe(heard, { closed: words(event) })
      })
      return Effect.sync(() => socket.close())
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(failed("timeout", `${address.socket} did not open within ${Duration.format(timeout)} (timeout)`))
      })
    ),
    (socket) => Effect.sync(() => socket.close()),
    { interruptible: true }
  )

export const open = Effect.fn("OpenEnv.open")(function* (
  options: Options
): Effect.fn.Return<Connection, OpenEnvError, Scope.Scope> {
  const { address, timeout } = options
  const heard = yield* Queue.unbounded<Heard>()
  const socket = yield* socketOf(options, heard)
  const one = yield* Semaphore.make(1)
  let isUsable = true

  const unusable = (error: OpenEnvError) => {
    isUsable = false
    socket.close()
    return error
  }
  const next = Effect.gen(function* () {
    const word = yield* Queue.take(heard)
    if ("closed" in word) {
      return yield* unusable(
        failed(
          "lost",
          `the OpenEnv server at ${address.http} closed the session (${word.closed}): it stopped, or the session idled for too long. The item is rolled out again`
        )
      )
    }
    return yield* Effect.mapError(decodeReply(word.text), ({ message }) =>
      unusable(failed("foreign", `${address.http} sent a response that is not OpenEnv's: ${message}`))
    )
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () =>
        Effect.suspend(() =>
          Effect.fail(
            unusable(failed("timeout", `${address.http} did not respond within ${Duration.format(timeout)} (timeout)`))
          )
        )
    }),
    // Otherwise the next request would receive the abandoned answer.
    Effect.onInterrupt(() => Effect.sync(() => unusable(failed("lost", "interrupted"))))
  )
  const ask = (type: "reset" | "step", data: { readonly [name: string]: unknown }) =>
    one.withPermits(1)(
      Effect.gen(function* () {
        // If it is closed already, the reason is in the queue.
        if (socket.readyState === WebSocket.OPEN) socket.send(ExactJson.write({ type, data })!)
        const reply = yield* next
        if (reply.type === "observation") return observedOf(reply.data)
        const error = faultOf(address, type, reply.data)
        return yield* error.reason === "capacity" ? unusable(error) : error
      })
    )
  return {
    reset: (input) => ask("reset", input),
    step: (action) => ask("step", action),
    isOpen: () => isUsable && socket.readyState === WebSocket.OPEN
  }
})

const observedOf = ({ done, metadata, observation, reward }: typeof Observed.Type): Observed => ({
  observation,
  reward: typeof reward === "boolean" ? Number(reward) : (reward ?? null),
  done: done ?? false,
  metadata: metadata ?? {}
})

const fieldsOf = (errors: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  errors.flatMap((error) =>
    typeof error === "object" && error !== null && "loc" in error && Array.isArray(error.loc)
      ? [error.loc.map(String).join(".")]
      : []
  )

const faultOf = ({ http }: Address, type: string, { code = "", errors = [], message = "" }: typeof Fault.Type) => {
  switch (code) {
    case "CAPACITY_REACHED":
      return failed("capacity", `${http}: ${message}`)
    case "VALIDATION_ERROR": {
      const fields = fieldsOf(errors)
      const named = fields.length === 0 ? message : `${message}: ${fields.join(", ")}`
      return new OpenEnvError({ reason: "invalid", message: `${http} rejected this ${type}: ${named}`, fields })
    }
    default:
      return failed("failed", `${http} could not ${type}: ${message} (${code === "" ? "no code" : code})`)
  }
}
