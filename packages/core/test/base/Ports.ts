/** Ports of the loopback that are a test's own as long as its scope is open. */
import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

/** A server on a port that the system chose. */
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

/** A server that hangs up on everybody. */
export const hangingUp: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  listening((socket) => socket.destroy()),
  (server) => `http://127.0.0.1:${portOf(server)}`
)

/**
 * A port at which connections are refused until a service of the test is told to listen there, and again while that is
 * dead. It is the local end of a connection of the test's: so the system gives it to nobody else, and whoever names it
 * may listen.
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
