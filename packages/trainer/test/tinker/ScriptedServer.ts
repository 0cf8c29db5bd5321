/**
 * A server on loopback whose answers a test writes: what a Tinker server would have to go wrong to give. Requests are
 * kept as they came.
 */
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

export interface Scripted {
  readonly status?: number
  readonly json?: unknown
  readonly bytes?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** The connection is broken instead. */
  readonly isCut?: boolean
}

export const jsonOf = ({ body }: Received): Record<string, unknown> =>
  JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>

export const make = Effect.fn("ScriptedServer.make")(function* (
  answer: (request: Received, index: number) => Scripted
) {
  const received: Array<Received> = []
  const server = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const { headers, method = "", url = "" } = request
      const seen = { method, path: url, headers, body: new Uint8Array(Buffer.concat(parts)) }
      received.push(seen)
      const { bytes, headers: more, isCut = false, json, status = 200 } = answer(seen, received.length - 1)
      if (isCut) return void response.destroy()
      response.writeHead(status, {
        "content-type": bytes === undefined ? "application/json" : "application/x-protobuf",
        ...more
      })
      response.end(bytes === undefined ? JSON.stringify(json ?? {}) : Buffer.from(bytes))
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received }
})

/** Answers to what every session begins with; undefined: the test's own turn. */
export const opening = ({ path }: Received, config: Record<string, unknown> = {}): Scripted | undefined => {
  switch (path) {
    case "/api/v1/client/config":
      return { json: config }
    case "/api/v1/get_server_capabilities":
      return { json: { supported_models: [{ model_name: "tiny" }] } }
    case "/api/v1/create_session":
      return { json: { session_id: "session-1" } }
    case "/api/v1/session_heartbeat":
      return { json: {} }
    case "/api/v1/create_model":
      return { json: { request_id: "create" } }
    default:
      return undefined
  }
}
