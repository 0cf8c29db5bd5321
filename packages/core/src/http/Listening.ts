/** A Node server that listens at an address, or fails with the reason and a fix. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { type Duration, Effect, Layer, Schema } from "effect"
import type { HttpServerError } from "effect/http"
import { createServer, type Server, type ServerOptions } from "node:http"
import * as Reason from "../base/Reason.ts"

/** The address is not available; states why, and how to fix it. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Max duration of requests in progress when the server closes. */
  readonly gracefulShutdownTimeout: Duration.Input
  /** Socket limits, for servers with WebSockets. */
  readonly websocket?: { readonly maxPayload: number; readonly perMessageDeflate: false }
}

export const makeServer = (options: ServerOptions = {}): Server =>
  createServer({
    // Longer than the pauses of periodic clients: closing a connection under their next request would be an error for
    // them.
    keepAliveTimeout: 75_000,
    ...options
  })

const advice: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use: stop the other process, or choose another port (0: any free one)",
  EACCES: "no permission: choose a port above 1023",
  EADDRNOTAVAIL:
    "this machine does not have that address: use 127.0.0.1 for local access only, 0.0.0.0 for all interfaces",
  ENOTFOUND: "host not found: use 127.0.0.1 for local access only, 0.0.0.0 for all interfaces"
}

type Address = Pick<Options, "host" | "port">

const listenError = ({ host, port }: Address, { cause }: Pick<HttpServerError.ServeError, "cause">): ListenError => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  return new ListenError({ message: `cannot listen on ${host}:${port}: ${advice[code] ?? Reason.of(cause)}`, cause })
}

/** Fails if an address is not available now, before anything slow that serves there is begun. */
export const check = (address: Address): Effect.Effect<void, ListenError> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (cause) => resume(Effect.fail(listenError(address, { cause }))))
    server.listen(address, () => server.close(() => resume(Effect.void)))
  })

export const layer = (server: Server, options: Options) =>
  NodeHttpServer.layer(() => server, options).pipe(
    Layer.catchTag("ServeError", (error) => Layer.effectContext(Effect.fail(listenError(options, error))))
  )
