/**
 * Serves an environment over OpenEnv's protocol to external trainers and clients: sockets with sessions, and HTTP.
 * Listens until the scope closes; without tokens only on this machine, unless `allowInsecure` is set.
 */
import { BrowserGuard, type Environment } from "@atropos/core"
import { Driven } from "@atropos/envs"
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as Connections from "@atropos/core/http/Connections"
import * as Listening from "@atropos/core/http/Listening"
import * as Serving from "@atropos/core/http/Serving"
import { Effect, Layer, type Redacted } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import type * as OpenApi from "./OpenApi.ts"
import * as Routes from "./Routes.ts"
import * as Sessions from "./Sessions.ts"
import * as SocketSession from "./SocketSession.ts"

/** Environment variable with the server's tokens. */
export const tokensSetting = "ATROPOS_OPENENV_TOKENS"

export interface Options extends Sessions.Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly about: OpenApi.About
  /** Accepted tokens; if empty, only this machine has access. */
  readonly tokens: ReadonlyArray<Redacted.Redacted>
  readonly allowInsecure: boolean
}

const open = new Set(["/health"])

/** Requires a token, except for the health check. */
const guarded = (tokens: ReadonlyArray<Redacted.Redacted>) => {
  const refused = HttpServerResponse.jsonUnsafe(
    { detail: `this server requires a token: send "Authorization: Bearer …" with one of ${tokensSetting}` },
    { status: 401 }
  )
  const authorize = BearerTokens.authorizer(tokens, { missing: refused, unknown: refused })
  return HttpRouter.middleware(
    Effect.succeed((handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) =>
        open.has(url)
          ? handler
          : Effect.matchEffect(authorize(BearerTokens.ofHeader(headers["authorization"])), {
              onFailure: Effect.succeed,
              onSuccess: () => handler
            })
      )
    ),
    { global: true }
  )
}

/** The server of an environment whose policy is `Driven.layerPolicy`; fails if it cannot be stepped. */
export const layer = (environment: Environment.EnvironmentShape, options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { about, allowInsecure, host, port, tokens } = options
      yield* BearerTokens.requireSafeBinding({
        host,
        hasTokens: tokens.length > 0,
        allowInsecure,
        setting: tokensSetting
      })
      const driven = yield* Driven.make(environment)
      const sessions = yield* Sessions.make(driven, yield* driven.check, options)
      const guard = tokens.length > 0 ? guarded(tokens) : BrowserGuard.layer({ host, tokens: tokensSetting })
      const app = yield* Serving.app(Layer.merge(Routes.layer(sessions, about), guard))
      const server = Listening.makeServer()
      return Connections.closed(server, {
        listening: Listening.layer(server, {
          host,
          port,
          gracefulShutdownTimeout: "2 seconds",
          websocket: { maxPayload: SocketSession.messageBytes, perMessageDeflate: false }
        }),
        serving: HttpServer.serve(app)
      })
    })
  )
