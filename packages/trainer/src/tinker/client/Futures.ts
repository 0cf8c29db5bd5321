/**
 * Runs operations on a Tinker server: sends them, receives the id of a future, and polls for its result.
 *
 * An operation whose future expired or is unknown is sent again with the same number, which servers apply only once. A
 * bare 400 to a poll is retried three times, because proxies produce some. Interruption stops polling, not the
 * operation.
 */
import { Effect, Option, Schema } from "effect"
import * as Future from "../protocol/Future.ts"
import * as Paths from "../protocol/Paths.ts"
import * as Patience from "./Patience.ts"
import { TinkerError } from "./TinkerError.ts"
import * as Transport from "./Transport.ts"

export interface Futures {
  readonly call: <A>(ask: Transport.Ask, answer: Schema.Codec<A, unknown>) => Effect.Effect<A, TinkerError>
  /** Sends an operation; returns its future. Fails immediately with `overloaded` if `isPatient` is false. */
  readonly submit: (ask: Transport.Ask, isPatient?: boolean) => Effect.Effect<Future.Pending, TinkerError>
  /** The result of an operation; `again` resends it if its future is gone. */
  readonly result: <A>(
    pending: Future.Pending,
    kind: Kind<A>,
    again: Effect.Effect<Future.Pending, TinkerError>
  ) => Effect.Effect<A, TinkerError>
}

export interface Kind<A> {
  /** Its name in the official client: `OptimStep`. */
  readonly name: string
  readonly isBinary: boolean
  readonly read: (reply: Transport.Reply, server: string) => Effect.Effect<A, TinkerError>
}

export const jsonKind = <A>(name: string, codec: Schema.Codec<A, unknown>): Kind<A> => ({
  name,
  isBinary: false,
  read: (reply, server) => Transport.json(server, ` (${name})`, codec, reply)
})

export const binaryKind = <A>(
  name: string,
  decode: (bytes: Uint8Array) => Effect.Effect<A, { readonly message: string }>
): Kind<A> => ({
  name,
  isBinary: true,
  read: ({ bytes, isBinary }, server) =>
    isBinary
      ? Effect.mapError(
          decode(bytes),
          ({ message }) => new TinkerError({ reason: "malformed", server, message: `${server} (${name}): ${message}` })
        )
      : Effect.fail(
          new TinkerError({
            reason: "malformed",
            server,
            message: `${server} answered ${name} with JSON: it predates binary results`
          })
        )
})

/** Max retries after a bare 400. */
const maxBadRequests = 3
/** Max times an operation is sent because its future is gone. */
const maxSubmissions = 5

const Special = Schema.Union([Future.TryAgain, Future.MetadataOnly, Future.Failed])
type Special = typeof Special.Type
const decodeSpecial = Schema.decodeUnknownOption(Schema.fromJsonString(Special))
const utf8 = new TextDecoder()

/** A response that is not a result; binary ones always are results. */
const specialOf = ({ bytes, isBinary, status }: Transport.Reply): Option.Option<Special> =>
  isBinary || (status !== 200 && status !== 408) ? Option.none() : decodeSpecial(utf8.decode(bytes))

export const make = (transport: Transport.Transport, patience: Patience.Patience): Futures => {
  const { send, server } = transport

  const once = Effect.fnUntraced(function* (ask: Transport.Ask) {
    const reply = yield* send(ask)
    return reply.status === 200 ? reply : yield* Transport.refusal(server, ask.path, reply)
  })

  const failed = (name: string, { category, error }: typeof Future.Failed.Type) =>
    new TinkerError({
      reason: category === "user" ? "refused" : "failed",
      server,
      message: `${server} failed at ${name}: ${error}`
    })

  /** Polls until there is a result; fails with `expired` if there will be none. */
  const poll = Effect.fnUntraced(function* <A>(requestId: string, kind: Kind<A>) {
    let allowMetadataOnly = true
    let badRequests = 0
    let lastMessage: string | undefined
    for (let iteration = 0; ; iteration++) {
      const ask: Transport.Ask = {
        method: "POST",
        path: Paths.post.retrieveFuture,
        body: { json: { request_id: requestId, allow_metadata_only: allowMetadataOnly } },
        headers: {
          "x-tinker-request-iteration": String(iteration),
          "x-tinker-request-type": kind.name,
          ...(kind.isBinary && { accept: Paths.binary })
        }
      }
      const answered = yield* Patience.persistently(
        Effect.flatMap(send(ask), (reply) =>
          reply.status === 429 || reply.status >= 500 || reply.status === 402
            ? Effect.fail(Transport.refusal(server, ask.path, reply))
            : Effect.succeed(reply)
        ),
        patience
      )
      const special = Option.getOrUndefined(specialOf(answered))
      if (special !== undefined && "error" in special) return yield* failed(kind.name, special)
      if (special !== undefined && "status" in special) {
        allowMetadataOnly = false
      } else if (special !== undefined || answered.status === 408) {
        const state = special?.queueState ?? "active"
        if (state !== "active" && state !== lastMessage) {
          yield* Effect.logInfo("the server requeued the request", {
            server,
            request: kind.name,
            state,
            ...(special?.queueStateReason && { because: special.queueStateReason })
          })
        }
        lastMessage = state
        badRequests = 0
        // Servers hold the poll until there is news; this limits the rate for one that does not.
        yield* Effect.sleep("50 millis")
      } else if (answered.status === 400 && badRequests < maxBadRequests) {
        badRequests++
      } else if (answered.status === 200) {
        return yield* kind.read(answered, server)
      } else {
        return yield* Transport.refusal(server, ask.path, answered)
      }
    }
  })

  const submit: Futures["submit"] = (ask, isPatient = true) =>
    Effect.flatMap(isPatient ? Patience.persistently(once(ask), patience) : once(ask), (reply) =>
      Transport.json(server, ask.path, Future.Pending, reply)
    )

  return {
    call: (ask, answer) =>
      Effect.flatMap(Patience.persistently(once(ask), patience), (reply) =>
        Transport.json(server, ask.path, answer, reply)
      ),
    submit,
    result: Effect.fnUntraced(function* <A>(
      first: Future.Pending,
      kind: Kind<A>,
      again: Effect.Effect<Future.Pending, TinkerError>
    ) {
      let pending = first
      for (let submission = 1; ; submission++) {
        const done = yield* Effect.result(poll(pending.requestId, kind))
        if (done._tag === "Success") return done.success
        const isGone = done.failure.reason === "expired" || done.failure.reason === "gone"
        if (!isGone || submission === maxSubmissions) return yield* done.failure
        pending = yield* again
      }
    })
  }
}
