/** A client of OpenEnv's protocol that shows every message: the platform's own WebSocket. */
import { Effect, Queue, Schema } from "effect"

const Reply = Schema.Struct({ type: Schema.String, data: Schema.Record(Schema.String, Schema.Any) })
export type Reply = typeof Reply.Type
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Reply))

export const open = Effect.fn("SocketClient.open")(function* (url: string, query = "") {
  const replies = yield* Queue.unbounded<Reply>()
  const ends = yield* Queue.unbounded<void>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<WebSocket, Error>((resume) => {
      const socket = new WebSocket(`${url.replace("http", "ws")}/ws${query}`)
      socket.addEventListener("message", ({ data }) => Queue.offerUnsafe(replies, decode(data)))
      socket.addEventListener("close", () => Queue.offerUnsafe(ends, undefined))
      socket.addEventListener("open", () => resume(Effect.succeed(socket)))
      socket.addEventListener("error", () => resume(Effect.fail(new Error(`no socket at ${url}`))))
    }),
    (socket) => Effect.sync(() => socket.close())
  )
  const say = (text: string) => Effect.sync(() => socket.send(text))
  const send = (message: unknown) => say(JSON.stringify(message))
  const next = Queue.take(replies)
  const ask = (type: string, data?: unknown) =>
    Effect.andThen(send({ type, ...(data !== undefined && { data }) }), next)
  return {
    say,
    send,
    next,
    ask,
    closed: Queue.take(ends),
    /** What an answer holds that is no error. */
    data: (type: string, data?: unknown) =>
      Effect.map(ask(type, data), (reply) => {
        if (reply.type === "error") throw new Error(reply.data["message"])
        return reply.data
      })
  }
})
