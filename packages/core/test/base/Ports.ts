/** Loopback ports reserved for a test while its scope is open. */
import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

const listening = (onConnection: (socket: Socket) => void): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer(onConnection)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
      })
  )

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** A server that closes every connection. */
export const hangingUp: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  listening((socket) => socket.destroy()),
  (server) => `http://127.0.0.1:${portOf(server)}`
)

/** A server that takes every connection, and never answers. */
export const silent: Effect.Effect<string, never, Scope.Scope> = Effect.gen(function* () {
  const open = new Set<Socket>()
  const server = yield* listening((socket) => void open.add(socket.resume().on("error", () => {})))
  yield* Effect.addFinalizer(() => Effect.sync(() => open.forEach((socket) => socket.destroy())))
  return `http://127.0.0.1:${portOf(server)}`
})

/**
 * A port that refuses connections except while the test's service listens on it. It is the local end of a connection of
 * the test's, so the system assigns it to no other process, but a server can listen on it by number.
 */
export const held: Effect.Effect<number, never, Scope.Scope> = Effect.gen(function* () {
  const other = yield* listening((socket) => socket.resume())
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect({ port: portOf(other), host: "127.0.0.1", localAddress: "127.0.0.1" }, () =>
        resume(Effect.succeed(socket))
      )
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )
  // It is connected.
  return socket.localPort!
})
