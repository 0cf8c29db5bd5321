/**
 * Network parts that misbehave: a Postgres server that refuses every password, and a line to a real one that can be
 * cut.
 */
import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

const listen = (onConnection: (socket: Socket) => void): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer(onConnection)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  )

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** A message of Postgres' protocol: a type, a length, a content. */
const message = (type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

const askForPassword = message("R", Buffer.from([0, 0, 0, 3]))
const refusal = message("E", Buffer.from('SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user "me"\0\0'))

/** Asks for a password and refuses it; the port. */
export const strictPostgres: Effect.Effect<number, never, Scope.Scope> = Effect.map(
  listen((socket) => {
    let messages = 0
    socket.on("error", () => socket.destroy())
    socket.on("data", (bytes) => {
      // No encryption, then a password, please; whatever it is.
      const wantsTls = bytes.length === 8 && bytes.readInt32BE(4) === 80877103
      if (wantsTls) socket.write("N")
      else if (messages++ === 0) socket.write(askForPassword)
      else socket.end(refusal)
    })
  }),
  portOf
)

export interface Wire {
  readonly port: number
  /** Breaks what is connected, and refuses what wants to connect. */
  readonly cut: Effect.Effect<void>
  readonly mend: Effect.Effect<void>
}

/** A line to a server. */
export const between = Effect.fnUntraced(function* (host: string, port: number) {
  const open = new Set<Socket>()
  let isCut = false
  const server = yield* listen((socket) => {
    if (isCut) return socket.destroy()
    const other = connect(port, host)
    for (const [one, peer] of [
      [socket, other],
      [other, socket]
    ] as const) {
      open.add(one)
      one.on("error", () => one.destroy())
      one.on("close", () => {
        open.delete(one)
        peer.destroy()
      })
      one.pipe(peer)
    }
    return undefined
  })
  const breakAll = Effect.sync(() => {
    for (const socket of open) socket.destroy()
  })
  yield* Effect.addFinalizer(() => breakAll)
  const wire: Wire = {
    port: portOf(server),
    cut: Effect.andThen(
      Effect.sync(() => (isCut = true)),
      breakAll
    ),
    mend: Effect.sync(() => void (isCut = false))
  }
  return wire
})
