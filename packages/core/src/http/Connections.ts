/**
 * Closes the connections of a Node server. Node's own `close` waits for each of them, and forever for those without any
 * data yet, which browsers open in advance.
 */
import { Effect, Layer } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

interface Connections {
  /** From now on connections close after their response; those without a request close immediately. */
  readonly closeIdle: Effect.Effect<void>
  /** Closes all, including responses in progress. */
  readonly closeAll: Effect.Effect<void>
}

const of = (server: Server): Connections => {
  /** Requests in progress. */
  const open = new Map<Socket, number>()
  let isClosing = false
  const count = (socket: Socket, by: 1 | -1) => {
    const requests = open.get(socket)
    if (requests === undefined) return
    open.set(socket, requests + by)
    if (isClosing && requests + by <= 0) socket.destroySoon()
  }
  server.on("connection", (socket: Socket) => {
    if (isClosing) return socket.destroy()
    open.set(socket, 0)
    socket.once("close", () => open.delete(socket))
  })
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    count(socket, 1)
    response.once("close", () => count(socket, -1))
  })
  return {
    closeIdle: Effect.sync(() => {
      isClosing = true
      for (const [socket, requests] of open) if (requests === 0) socket.destroy()
    }),
    closeAll: Effect.sync(() => server.closeAllConnections())
  }
}

const atTheEnd = (effect: Effect.Effect<void>) => Layer.effectDiscard(Effect.addFinalizer(() => effect))

/**
 * Runs `serving` over the server that is `listening`. At the end `onClosing` runs and idle connections close, then
 * `serving` waits for requests within its limit, then the rest is cut.
 */
export const closed = <A, E, R, B, E2, R2>(
  server: Server,
  layers: {
    readonly listening: Layer.Layer<A, E, R>
    readonly serving: Layer.Layer<B, E2, R2>
    readonly onClosing?: Effect.Effect<void>
  }
) => {
  const { closeAll, closeIdle } = of(server)
  const { listening, onClosing = Effect.void, serving } = layers
  // Layers are released in reverse order.
  const cut = Layer.provideMerge(atTheEnd(closeAll), listening)
  return Layer.provideMerge(atTheEnd(Effect.andThen(onClosing, closeIdle)), Layer.provideMerge(serving, cut))
}
