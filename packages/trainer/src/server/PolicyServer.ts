/**
 * Serves the policy over HTTP: OpenAI's API, vLLM's token-level and adapter endpoints, health and metrics.
 *
 *     GET  /v1/models, /v1/models/<id>     POST /v1/chat/completions, /v1/completions
 *     POST /generate, /tokenize, /detokenize    POST /v1/load_lora_adapter, /v1/unload_lora_adapter
 *     GET  /health, /metrics
 *
 * Every completion reports the policy version that sampled it (`policy_version`, header `x-policy-version`). Errors are
 * OpenAI's; an overloaded engine gives 429 with Retry-After. A disconnect frees a client's rows. Only `/health` needs
 * no token.
 */
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as Connections from "@atropos/core/http/Connections"
import * as Listening from "@atropos/core/http/Listening"
import * as Serving from "@atropos/core/http/Serving"
import type { Tokenizer } from "@atropos/core"
import * as BrowserGuard from "@atropos/core/http/BrowserGuard"
import { Cause, type Duration, Effect, Layer, type Redacted, type Scope } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as AdapterApi from "./AdapterApi.ts"
import * as ChatCompletions from "./ChatCompletions.ts"
import type { Engine } from "../engine/Engine.ts"
import * as ApiError from "./OpenAiApiError.ts"
import * as PolicyMetrics from "./PolicyMetrics.ts"
import * as RequestBody from "./RequestBody.ts"
import * as ServedPolicy from "./ServedPolicy.ts"
import * as TextCompletions from "./TextCompletions.ts"
import * as TokenApi from "./TokenApi.ts"

export interface RoutesOptions extends ServedPolicy.Options {
  /** Reads adapters for `/v1/load_lora_adapter`; without it adapters cannot be loaded over HTTP. */
  readonly readAdapter?: AdapterApi.ReadAdapter
  /** Accepted tokens; empty: no token needed. */
  readonly tokens?: ReadonlyArray<Redacted.Redacted>
  /** Max request body. Default 16 MiB. */
  readonly maxBodyBytes?: number
}

type Answer = HttpServerResponse.HttpServerResponse
type Handler = Effect.Effect<
  Answer,
  ApiError.OpenAiApiError,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>

const noReader: AdapterApi.ReadAdapter = () => Effect.fail({ message: "this server cannot read adapters" })

/** Time limit for the engine's response to a health check. */
const healthTime: Duration.Input = "5 seconds"

const health = ({ engine }: ServedPolicy.ServedPolicy): Handler =>
  engine.health.pipe(
    Effect.timeoutOrElse({
      duration: healthTime,
      orElse: () => Effect.fail({ message: "the engine does not respond" })
    }),
    Effect.mapBoth({
      onFailure: ({ message }) => ApiError.unavailable(message),
      onSuccess: () => HttpServerResponse.empty({ status: 200 })
    })
  )

/** The setting with the tokens of clients, which may also swap adapters; without it no token is needed. */
export const tokensSetting = "ATROPOS_POLICY_TOKENS"

/** The endpoints, for the caller's own router. */
export const layerRoutes = (
  options: RoutesOptions
): Layer.Layer<never, never, HttpRouter.HttpRouter | Engine | Tokenizer.Tokenizer> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const served = yield* ServedPolicy.make(options)
      const authorize = BearerTokens.authorizer(options.tokens ?? [], {
        missing: ApiError.unauthorized("this server requires a token: send the header `Authorization: Bearer <token>`"),
        unknown: ApiError.unauthorized("unknown token")
      })
      const readAdapter = options.readAdapter ?? noReader
      const add = (method: "GET" | "POST" | "*", path: `/${string}`, handler: Handler) =>
        router.add(
          method,
          path,
          Effect.gen(function* () {
            const startedAt = performance.now()
            const { headers } = yield* HttpServerRequest.HttpServerRequest
            const authorized =
              path === "/health" ? Effect.void : authorize(BearerTokens.ofHeader(headers["authorization"]))
            const answer = yield* sound(ApiError.answered(Effect.andThen(authorized, handler)))
            const elapsed = (performance.now() - startedAt) / 1000
            yield* PolicyMetrics.answered(path, answer.status, elapsed)
            return answer
          }).pipe(
            options.maxBodyBytes === undefined
              ? (self) => self
              : Effect.provideService(RequestBody.MaxBytes, options.maxBodyBytes)
          )
        )
      // This route also matches the path without an id.
      yield* add("GET", "/v1/models/*", AdapterApi.getModels(served))
      yield* add("POST", "/v1/chat/completions", ChatCompletions.handle(served))
      yield* add("POST", "/v1/completions", TextCompletions.handle(served))
      yield* add("POST", "/v1/load_lora_adapter", AdapterApi.load(served, readAdapter))
      yield* add("POST", "/v1/unload_lora_adapter", AdapterApi.unload(served))
      yield* add("POST", "/generate", TokenApi.generate(served))
      yield* add("POST", "/tokenize", TokenApi.tokenize(served))
      yield* add("POST", "/detokenize", TokenApi.detokenize(served))
      yield* add("GET", "/health", health(served))
      yield* add("GET", "/metrics", PolicyMetrics.metrics(served))
      yield* add("*", "/*", unknownPath)
    })
  )

/** Turns a defect into a response, so that the server continues. */
const sound = <R>(handler: Effect.Effect<Answer, never, R>): Effect.Effect<Answer, never, R> =>
  Effect.catchCauseIf(
    handler,
    (cause) => !Cause.hasInterrupts(cause),
    (cause) => Effect.as(Effect.logError("internal error while answering a request", cause), internalError)
  )

const internalError = ApiError.toResponse(
  new ApiError.OpenAiApiError({
    status: 500,
    type: "server_error",
    message: "internal error; see the server's log",
    param: null,
    code: "internal_error"
  })
)

const unknownPath: Handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
  Effect.fail(ApiError.notFound(`Unknown request URL: ${method} ${url.split("?", 1)[0]}`, null, "unknown_url"))
)

export interface Options extends RoutesOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Serve other machines without tokens. Default: no. */
  readonly allowInsecure?: boolean
}

/** Tokens keep web pages out; without tokens this guard does. */
const guard = ({ host, tokens = [] }: Options) =>
  tokens.length > 0
    ? Layer.empty
    : BrowserGuard.layer({
        host,
        tokens: tokensSetting,
        refuse: (message) => ApiError.toResponse(ApiError.forbidden(message))
      })

/** Listens until the scope closes. The bound address is in `HttpServer`. */
export const layer = (
  options: Options
): Layer.Layer<
  HttpServer.HttpServer,
  Listening.ListenError | BearerTokens.AuthConfigError | BrowserGuard.BrowserGuardError,
  Engine | Tokenizer.Tokenizer
> =>
  Layer.unwrap(
    Effect.gen(function* () {
      yield* BearerTokens.requireSafeBinding({
        host: options.host,
        hasTokens: (options.tokens ?? []).length > 0,
        allowInsecure: options.allowInsecure ?? false,
        setting: tokensSetting
      })
      const app = yield* Serving.app(Layer.merge(layerRoutes(options), guard(options)))
      const server = Listening.makeServer()
      return Connections.closed(server, {
        listening: Listening.layer(server, {
          host: options.host,
          port: options.port,
          gracefulShutdownTimeout: "2 seconds"
        }),
        serving: HttpServer.serve(app)
      })
    })
  )
