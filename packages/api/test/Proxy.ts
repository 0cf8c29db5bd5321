/** A proxy between a client and a server on this machine that can stall traffic or close connections. */
import { Effect } from "effect"
import { connect, createServer, type AddressInfo, type Socket } from "node:net"

export interface Proxy {
  readonly port: number
  /** Stalls all traffic; connections stay open. */
  readonly silence: () => void
  /** Forwards traffic again. */
  readonly resume: () => void
  /** Closes all connections and refuses new ones until `resume`. */
  readonly hangUp: () => void
}

export const make = (to: { readonly host: string; readonly port: number }) =>
  Effect.acquireRelease(
    Effect.callback<Proxy & { readonly close: () => void }>((ready) => {
      const sockets = new Set<Socket>()
      let mode: "open" | "silent" | "closed" = "open"
      const server = createServer((inner) => {
        if (mode === "closed") return void inner.destroy()
        const outer = connect(to)
        for (const socket of [inner, outer]) {
          sockets.add(socket)
          if (mode === "silent") socket.pause()
          socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket))
        }
        inner.on("data", (bytes) => outer.write(bytes)).on("close", () => outer.destroy())
        outer.on("data", (bytes) => inner.write(bytes)).on("close", () => inner.destroy())
        if (mode === "silent") for (const socket of [inner, outer]) socket.pause()
      })
      const hangUp = () => {
        mode = "closed"
        for (const socket of sockets) socket.destroy()
      }
      server.listen(0, "127.0.0.1", () =>
        ready(
          Effect.succeed({
            port: (server.address() as AddressInfo).port,
            silence: () => {
              mode = "silent"
              for (const socket of sockets) socket.pause()
            },
            resume: () => {
              mode = "open"
              for (const socket of sockets) socket.resume()
            },
            hangUp,
            close: () => {
              hangUp()
              server.close()
            }
          })
        )
      )
    }),
    ({ close }) => Effect.sync(close)
  )
