/**
 * Serves our engine over Tinker's API, below `/api/v1` (`protocol/Paths`), for the official SDK and software built on
 * it.
 *
 * Errors are `{"detail": …}`. One base model, one adapter per model in training. Only `/healthz` needs no key.
 */
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as BrowserGuard from "@atropos/core/http/BrowserGuard"
import * as Connections from "@atropos/core/http/Connections"
import * as Listening from "@atropos/core/http/Listening"
import * as Serving from "@atropos/core/http/Serving"
import { Cause, Effect, type FileSystem, Layer, type Path, Redacted, type Scope } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import type { Executor } from "../../exec/Executor.ts"
import * as Paths from "../protocol/Paths.ts"
import { notFound, Refused } from "../service/Failures.ts"
import * as Http from "./Http.ts"
import * as RunRoutes from "./RunRoutes.ts"
import * as SamplingRoutes from "./SamplingRoutes.ts"
import * as Service from "../service/Service.ts"
import * as SessionRoutes from "./SessionRoutes.ts"
import * as TrainingRoutes from "./TrainingRoutes.ts"
import * as WeightRoutes from "./WeightRoutes.ts"

export interface Options extends Service.Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Accepted keys; empty: no key needed. */
  readonly keys?: ReadonlyArray<Redacted.Redacted>
  /** Serve other machines without keys. Default: no. */
  readonly allowInsecure?: boolean
}

type Handler = Effect.Effect<
  Http.Answer,
  Refused,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>
type Route = readonly ["GET" | "POST" | "PUT" | "DELETE" | "*", `/${string}`, Handler]

const unknownPath: Handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
  Effect.fail(notFound(`unknown endpoint: ${method} ${url.split("?", 1)[0]}`))
)

/** Turns failures and defects into responses, so that the server continues. */
const answered = (handler: Handler) =>
  handler.pipe(
    Effect.catchTag("Refused", (refused) => Effect.succeed(Http.toAnswer(refused))),
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterrupts(cause),
      (cause) =>
        Effect.as(
          Effect.logError("internal error while answering a request", cause),
          Http.toAnswer(new Refused({ status: 500, message: "internal error; see the server's log" }))
        )
    )
  )

/** The setting with the keys of clients, sent in `X-API-Key`; without it any key is accepted. */
export const keysSetting = "ATROPOS_TINKER_KEYS"

/** The SDK only sends keys that begin with this. */
const prefix = "tml-"

/** The keys of the setting. */
export const keys = Effect.filterOrFail(
  BearerTokens.configured(keysSetting),
  (keys) => keys.every((key) => Redacted.value(key).startsWith(prefix)),
  () =>
    new BearerTokens.AuthConfigError({
      message: `${keysSetting}: every key must begin with ${prefix}; the SDK rejects others`
    })
)

const layerRoutes = (service: Service.Service, keys: ReadonlyArray<Redacted.Redacted>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const authorize = BearerTokens.authorizer(keys, {
        missing: new Refused({ status: 401, message: "this server requires a key: set TINKER_API_KEY" }),
        unknown: new Refused({ status: 401, message: "unknown key in TINKER_API_KEY" })
      })
      const routes: ReadonlyArray<Route> = [
        ...SessionRoutes.routes(service),
        ...TrainingRoutes.routes(service),
        ...WeightRoutes.routes(service),
        ...SamplingRoutes.routes(service),
        ...RunRoutes.routes(service),
        ["*", "/*", unknownPath]
      ]
      for (const [method, path, handler] of routes) {
        const authorized = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
          path === Paths.get.health ? Effect.void : authorize(headers["x-api-key"])
        )
        yield* router.add(
          method,
          path,
          Effect.provideService(
            answered(Effect.andThen(authorized, handler)),
            Http.MaxBytes,
            service.settings.maxBodyMegabytes * 2 ** 20
          )
        )
      }
    })
  )

/** Keys keep web pages out; without keys this guard does. */
const guard = ({ host, keys = [] }: Options) =>
  keys.length > 0
    ? Layer.empty
    : BrowserGuard.layer({
        host,
        tokens: keysSetting,
        refuse: (message) => Http.toAnswer(new Refused({ status: 403, message }))
      })

/** Listens until the scope closes. The bound address is in `HttpServer`. */
export const layer = (
  options: Options
): Layer.Layer<
  HttpServer.HttpServer,
  Listening.ListenError | BearerTokens.AuthConfigError | BrowserGuard.BrowserGuardError | Service.ServiceError,
  Executor | FileSystem.FileSystem | Path.Path
> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { keys = [] } = options
      yield* BearerTokens.requireSafeBinding({
        host: options.host,
        hasTokens: keys.length > 0,
        allowInsecure: options.allowInsecure ?? false,
        setting: keysSetting
      })
      const service = yield* Service.make(options)
      const app = yield* Serving.app(Layer.merge(layerRoutes(service, keys), guard(options)))
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
