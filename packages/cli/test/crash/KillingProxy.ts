/**
 * A server's stand-in at an address that stays: passes requests on as they are, and pulls a trigger at one of them,
 * before the server has it or before its answer is passed on. Whoever asked then hears no more.
 */
import { Deferred, Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Moment {
  /** For whoever reads a failure. */
  readonly name: string
  /** Whether this is the request. */
  readonly is: (request: IncomingMessage) => boolean
  /** Which one of them, from 1. */
  readonly nth: number
  /** When it arrives, or when the server has answered it. */
  readonly at: "asked" | "answered"
}

export interface KillingProxy {
  readonly url: string
  /** From now on waits for that moment, at which `trigger` is called; done then. */
  readonly await: (moment: Moment, trigger: () => void) => Effect.Effect<void>
}

interface Armed extends Moment {
  readonly trigger: () => void
  readonly fired: Deferred.Deferred<void>
  seen: number
}

/** In front of the server at a port. */
export const make = Effect.fnUntraced(function* (port: number): Effect.fn.Return<KillingProxy, never, Scope.Scope> {
  let armed: Armed | undefined

  const fire = ({ fired, trigger }: Armed, incoming: IncomingMessage) => {
    armed = undefined
    trigger()
    incoming.socket.destroy()
    Deferred.doneUnsafe(fired, Effect.void)
  }

  /** The moment that this request is, if it is one. */
  const due = (incoming: IncomingMessage): Armed | undefined =>
    armed !== undefined && armed.is(incoming) && ++armed.seen === armed.nth ? armed : undefined

  const passOn = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const moment = due(incoming)
    if (moment?.at === "asked") return fire(moment, incoming)
    const { headers, method, url: path } = incoming
    const passed = ask({ host: "127.0.0.1", port, method, path, headers, agent: false }, (answer) => {
      if (moment !== undefined) {
        answer.resume()
        return fire(moment, incoming)
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.once("error", () => incoming.socket.destroy())
    // Whoever asked is gone: a claim that waits must not be answered any more.
    outgoing.once("close", () => passed.destroy())
    incoming.pipe(passed)
  }

  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(passOn)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    await: (moment, trigger) =>
      Effect.suspend(() => {
        const fired = Deferred.makeUnsafe<void>()
        armed = { ...moment, trigger, fired, seen: 0 }
        return Deferred.await(fired)
      })
  }
})
