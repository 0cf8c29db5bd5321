/**
 * An OpenAI/Anthropic-compatible endpoint that records agent sessions: each session has a secret URL that any SDK
 * accepts as its base URL, and records the exact tokens of every answer.
 *
 *     POST /s/<secret>/v1/chat/completions             OpenAI's Chat Completions
 *     POST /s/<secret>/v1/responses                    OpenAI's Responses
 *     GET  /s/<secret>/v1/models                       the only model; it answers to any name
 *     POST /s/<secret>/reward                          reports the reward of the session, or of one answer
 *
 * The other dialects are in `Dialects`. Answers are streamed if the server streams them. A stream starts with its first
 * text, or soon without it, so that a request that fails before has a status that its SDK knows. Listens on loopback by
 * default; secrets have 128 bits and are neither logged nor traced. A disconnecting client cancels its sampling.
 */
import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { HttpMiddleware, type HttpRouter, HttpServer } from "effect/http"
import * as BearerTokens from "../http/BearerTokens.ts"
import * as BrowserGuard from "../http/BrowserGuard.ts"
import * as Connections from "../http/Connections.ts"
import * as Conversations from "./session/Conversations.ts"
import * as Listening from "../http/Listening.ts"
import * as Routes from "./Routes.ts"
import * as Serving from "../http/Serving.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import type { Session, SessionOptions } from "./session/Session.ts"
import * as Sessions from "./session/Sessions.ts"

export * from "./session/Session.ts"
export type { Limits } from "./session/Limits.ts"

export interface GatewayShape {
  /** Opens a session until the scope closes; afterwards its URL answers that it is closed. */
  readonly open: (options?: SessionOptions) => Effect.Effect<Session, Sessions.Refusal, Scope.Scope>
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
}

export class Gateway extends Context.Service<Gateway, GatewayShape>()("@atropos/core/gateway/Gateway") {}

export interface Options extends Sessions.Options {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: 0, any free port. */
  readonly port?: number
  /** Allows programs in other processes to open sessions by `POST /sessions`. Default: no. */
  readonly isControlled?: boolean
  /** Answers requests to `/v1` without a session: each conversation becomes one. Default: no. */
  readonly hasConversations?: boolean
  /** Tokens required for either; without any, only this machine may. */
  readonly tokens?: ReadonlyArray<Redacted.Redacted>
  /** Allows other machines to do either without a token. Default: no. */
  readonly allowInsecure?: boolean
}

/** The setting with the gateway's tokens. */
export const tokensSetting = "ATROPOS_GATEWAY_TOKENS"

const shape = (sessions: Sessions.Sessions, url: string): GatewayShape => ({
  url,
  open: (options) => Effect.map(sessions.open(url, options), ({ session }) => session)
})

const routes = (
  sessions: Sessions.Sessions,
  options: Options,
  servers: ServerManager["Service"],
  url: () => string
) => {
  const { hasConversations = false, isControlled = false, tokens = [] } = options
  return Routes.layer(sessions, {
    url,
    isControlled,
    tokens: tokens.map((token) => BearerTokens.known("control", token)),
    ...(hasConversations && { conversations: Conversations.make(sessions, servers.tokenizer, url) })
  })
}

/**
 * The gateway's endpoints in the caller's router, which is reachable at `url`. Give the server `layerUntraced`, or its
 * spans contain the secrets.
 */
export const layerRoutes = (
  options: Omit<Options, "host" | "port" | "allowInsecure"> & { readonly url: string }
): Layer.Layer<Gateway, never, HttpRouter.HttpRouter | ServerManager> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const servers = yield* ServerManager
      const sessions = yield* Sessions.make(servers, options)
      return Layer.provideMerge(
        routes(sessions, options, servers, () => options.url),
        Layer.succeed(Gateway, shape(sessions, options.url))
      )
    })
  )

/** Disables spans of requests: a URL is a session's secret. Rollouts and sampling still have spans. */
export const layerUntraced: Layer.Layer<never> = Layer.succeed(HttpMiddleware.TracerDisabledWhen)(() => true)

export const layer = (
  options: Options = {}
): Layer.Layer<
  Gateway,
  Listening.ListenError | BrowserGuard.BrowserGuardError | BearerTokens.AuthConfigError,
  ServerManager
> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { hasConversations = false, host = "127.0.0.1", isControlled = false, port = 0, tokens = [] } = options
      yield* BearerTokens.requireSafeBinding({
        host,
        // A session's secret is as good as a token.
        hasTokens: tokens.length > 0 || !(isControlled || hasConversations),
        allowInsecure: options.allowInsecure ?? false,
        setting: tokensSetting
      })
      const servers = yield* ServerManager
      const sessions = yield* Sessions.make(servers, options)
      let url = ""
      const guard = BrowserGuard.layer({ host, refuse: Routes.forbidden })
      const app = yield* Serving.app(
        Layer.merge(
          routes(sessions, options, servers, () => url),
          guard
        )
      )
      const server = Listening.makeServer()
      const listening = Connections.closed(server, {
        listening: Listening.layer(server, { host, port, gracefulShutdownTimeout: "2 seconds" }),
        serving: HttpServer.serve(app).pipe(Layer.provide(layerUntraced))
      })
      const gateway = Layer.effect(
        Gateway,
        Effect.map(HttpServer.HttpServer, ({ address }) => {
          url = reachable(HttpServer.formatAddress(address))
          return shape(sessions, url)
        })
      )
      return Layer.provide(gateway, listening)
    })
  )

/** The URL for programs on this machine; a wildcard address is replaced by the loopback address. */
const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
