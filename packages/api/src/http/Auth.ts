/**
 * Authorizes requests by bearer tokens with roles, for the original's endpoints and the versioned ones.
 *
 * Tokens come from `ATROPOS_TOKENS`: comma-separated `role:token` pairs with the roles `environment`, `trainer`,
 * `reader` and `admin`; a role may have several tokens, for rotation. Without it no token is required, and the server
 * only binds to loopback unless configured otherwise (`requireSafeBinding`). See `BearerTokens` for storage and
 * comparison.
 */
import { Config, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { TrajectoryApi, TrajectoryApiError } from "@atropos/core"
import * as BearerTokens from "@atropos/core/http/BearerTokens"

type KnownToken = BearerTokens.KnownToken<TrajectoryApi.Role>

export class Auth extends Context.Service<
  Auth,
  {
    readonly isRequired: boolean
    /** Fails unless the token (undefined if none was sent) has one of `roles`. */
    readonly authorize: (
      token: string | undefined,
      roles: ReadonlyArray<TrajectoryApi.Role>
    ) => Effect.Effect<void, TrajectoryApiError.Unauthorized | TrajectoryApiError.Forbidden>
  }
>()("@atropos/api/Auth") {}

const isRole = Schema.is(TrajectoryApi.Role)

const parseEntry = (entry: string, index: number): Effect.Effect<KnownToken, BearerTokens.AuthConfigError> => {
  const colon = entry.indexOf(":")
  const role = entry.slice(0, colon).trim()
  const token = entry.slice(colon + 1).trim()
  const place = `ATROPOS_TOKENS, entry ${index + 1}`
  // The entry itself is never repeated in a message: it holds a secret.
  if (colon < 0 || !isRole(role)) {
    return new BearerTokens.AuthConfigError({
      message: `${place}: expected role:token with role environment, trainer, reader or admin`
    })
  }
  return Effect.map(BearerTokens.parse(token, `${place} (${role})`), (parsed) => BearerTokens.known(role, parsed))
}

/** Parses `role:token,role:token`. */
export const parse = (
  setting: Redacted.Redacted
): Effect.Effect<ReadonlyArray<KnownToken>, BearerTokens.AuthConfigError> =>
  Effect.forEach(BearerTokens.entries(setting), parseEntry)

const unauthorized = (message: string) => Effect.fail(new TrajectoryApiError.Unauthorized({ message }))

const make = (known: ReadonlyArray<KnownToken>): Auth["Service"] => ({
  isRequired: known.length > 0,
  authorize: (token, roles) => {
    if (known.length === 0) return Effect.void
    if (token === undefined || token === "") {
      return unauthorized("a token is required: send the header `Authorization: Bearer <token>`")
    }
    const role = BearerTokens.roleOf(known, token)
    if (role === undefined) return unauthorized("unknown token")
    if (role === "admin" || roles.includes(role)) return Effect.void
    return Effect.fail(
      new TrajectoryApiError.Forbidden({
        message: `the role ${role} is not allowed to do this: use a token with the role ${[...roles, "admin"].join(" or ")}`
      })
    )
  }
})

export const layer = (setting: Redacted.Redacted): Layer.Layer<Auth, BearerTokens.AuthConfigError> =>
  Layer.effect(Auth, Effect.map(parse(setting), make))

/** No tokens required. */
export const layerOpen: Layer.Layer<Auth> = Layer.succeed(Auth, make([]))

export const layerConfig: Layer.Layer<Auth, BearerTokens.AuthConfigError | Config.ConfigError> = Layer.effect(
  Auth,
  Effect.gen(function* () {
    const setting = yield* Config.option(Config.Redacted("ATROPOS_TOKENS"))
    return make(Option.isNone(setting) ? [] : yield* parse(setting.value))
  })
)

export const tokenOf = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  BearerTokens.ofHeader(request.headers["authorization"])

/** Refuses to serve other machines without tokens, unless `allowInsecure` is set. */
export const requireSafeBinding = (options: {
  readonly host: string
  readonly allowInsecure: boolean
}): Effect.Effect<Auth["Service"], BearerTokens.AuthConfigError, Auth> =>
  Effect.tap(Auth, ({ isRequired }) =>
    BearerTokens.requireSafeBinding({
      ...options,
      hasTokens: isRequired,
      setting: 'ATROPOS_TOKENS (for example "environment:<token>,trainer:<token>")'
    })
  )

/** The roles allowed at the original's endpoints, by path. Reads that are not listed allow any role. */
const originalRoles: { readonly [path: string]: ReadonlyArray<TrajectoryApi.Role> } = {
  "/register": ["trainer"],
  "/batch": ["trainer"],
  "/reset_data": ["trainer"],
  "/register-env": ["environment"],
  "/disconnect-env": ["environment"],
  "/scored_data": ["environment"],
  "/scored_data_list": ["environment"]
}

/** All roles except admin, which is always allowed. */
export const anyRole: ReadonlyArray<TrajectoryApi.Role> = ["environment", "trainer", "reader"]

const refuse = (status: number, error: TrajectoryApiError.Unauthorized | TrajectoryApiError.Forbidden) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe({ error: error._tag, message: error.message }, { status }))

/** The path a route was added under, without its mount prefix and regardless of the spelling in the URL. */
const pathOf = ({ path, prefix }: HttpRouter.Route<unknown, unknown>): string =>
  Option.match(prefix, { onNone: () => path, onSome: (mounted) => path.slice(mounted.length) || "/" })

/** Middleware for routes outside the versioned definition: the original's, and `/metrics`. */
export const middleware = HttpRouter.middleware(
  Effect.map(
    Auth,
    (auth) => (route) =>
      Effect.gen(function* () {
        const { route: matched } = yield* HttpRouter.RouteContext
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* auth.authorize(tokenOf(request), originalRoles[pathOf(matched)] ?? anyRole)
        return yield* route
      }).pipe(
        Effect.catchTags({
          Unauthorized: (error) => refuse(401, error),
          Forbidden: (error) => refuse(403, error)
        })
      )
  )
)
