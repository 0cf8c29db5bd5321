/**
 * Bearer tokens with roles, for the original's endpoints and the versioned ones alike.
 *
 * Tokens come from one setting, `ATROPOS_TOKENS`: `role:token` pairs, comma separated, roles `environment`, `trainer`,
 * `reader` and `admin`; a role may have several tokens (to change one without an outage). Without the setting nobody is
 * asked; the server then binds to loopback alone, unless told otherwise (`requireSafeBinding`). Tokens are compared by
 * their SHA-256 digests in constant time, and every known token is looked at whatever the outcome.
 */
import { Config, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { BrowserGuard, TrajectoryApi, TrajectoryApiError } from "@atropos/core"
import { createHash, timingSafeEqual } from "node:crypto"

/** The tokens, or the binding they should protect, are not right; says what to do. */
export class AuthConfigError extends Schema.TaggedError<AuthConfigError>()("AuthConfigError", {
  message: Schema.String
}) {}

interface KnownToken {
  readonly role: TrajectoryApi.Role
  readonly digest: Uint8Array
}

/** Decides whether a request may go on. */
export class Auth extends Context.Service<
  Auth,
  {
    /** Tokens are asked for. */
    readonly isRequired: boolean
    /** Fails where the token (as it came, undefined where none did) may not act in any of `roles`. */
    readonly authorize: (
      token: string | undefined,
      roles: ReadonlyArray<TrajectoryApi.Role>
    ) => Effect.Effect<void, TrajectoryApiError.Unauthorized | TrajectoryApiError.Forbidden>
  }
>()("@atropos/api/Auth") {}

const digestOf = (token: string): Uint8Array => createHash("sha256").update(token).digest()

const isRole = Schema.is(TrajectoryApi.Role)

const parseEntry = (entry: string, index: number): Effect.Effect<KnownToken, AuthConfigError> => {
  const colon = entry.indexOf(":")
  const role = entry.slice(0, colon).trim()
  const token = entry.slice(colon + 1).trim()
  // The entry itself is never repeated in a message: it holds a secret.
  if (colon < 0 || !isRole(role)) {
    return new AuthConfigError({
      message: `ATROPOS_TOKENS, entry ${index + 1}: expected role:token with role environment, trainer, reader or admin`
    })
  }
  if (token.length < 8 || /\s/.test(token)) {
    return new AuthConfigError({
      message: `ATROPOS_TOKENS, entry ${index + 1} (${role}): a token has at least 8 characters and no spaces`
    })
  }
  return Effect.succeed({ role, digest: digestOf(token) })
}

/** Reads `role:token,role:token`. */
export const parse = (setting: Redacted.Redacted): Effect.Effect<ReadonlyArray<KnownToken>, AuthConfigError> =>
  Effect.forEach(
    Redacted.value(setting)
      .split(",")
      .filter((entry) => entry.trim() !== ""),
    parseEntry
  )

const roleOf = (known: ReadonlyArray<KnownToken>, token: string): TrajectoryApi.Role | undefined => {
  const digest = digestOf(token)
  let role: TrajectoryApi.Role | undefined
  for (const one of known) if (timingSafeEqual(one.digest, digest)) role = one.role
  return role
}

const unauthorized = (message: string) => Effect.fail(new TrajectoryApiError.Unauthorized({ message }))

const make = (known: ReadonlyArray<KnownToken>): Auth["Service"] => ({
  isRequired: known.length > 0,
  authorize: (token, roles) => {
    if (known.length === 0) return Effect.void
    if (token === undefined || token === "") {
      return unauthorized("this service asks for a token: send the header `Authorization: Bearer <token>`")
    }
    const role = roleOf(known, token)
    if (role === undefined) return unauthorized("the token is not known here")
    if (role === "admin" || roles.includes(role)) return Effect.void
    return Effect.fail(
      new TrajectoryApiError.Forbidden({
        message: `a token with the role ${role} may not do this; it needs the role ${[...roles, "admin"].join(" or ")}`
      })
    )
  }
})

/** From `role:token` pairs. */
export const layer = (setting: Redacted.Redacted): Layer.Layer<Auth, AuthConfigError> =>
  Layer.effect(Auth, Effect.map(parse(setting), make))

/** Nobody is asked for a token. */
export const layerOpen: Layer.Layer<Auth> = Layer.succeed(Auth, make([]))

/** From `ATROPOS_TOKENS`. */
export const layerConfig: Layer.Layer<Auth, AuthConfigError | Config.ConfigError> = Layer.effect(
  Auth,
  Effect.gen(function* () {
    const setting = yield* Config.option(Config.Redacted("ATROPOS_TOKENS"))
    return make(Option.isNone(setting) ? [] : yield* parse(setting.value))
  })
)

const bearer = /^Bearer +(\S+) *$/i

/** The token of a request, if it carries one. */
export const tokenOf = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  bearer.exec(request.headers["authorization"] ?? "")?.[1]

/** Who is let in; refuses to serve other machines without tokens, unless `allowInsecure` says that this is meant. */
export const requireSafeBinding = (options: {
  readonly host: string
  readonly allowInsecure: boolean
}): Effect.Effect<Auth["Service"], AuthConfigError, Auth> =>
  Effect.flatMap(Auth, (auth) => {
    if (BrowserGuard.isLoopback(options.host) || auth.isRequired) return Effect.succeed(auth)
    if (options.allowInsecure) {
      return Effect.as(Effect.logWarning("serving other machines without tokens", { host: options.host }), auth)
    }
    return Effect.fail(
      new AuthConfigError({
        message:
          `binding to ${options.host} lets other machines in, and no token is set. Set ATROPOS_TOKENS ` +
          `(for example "environment:<token>,trainer:<token>"), bind to 127.0.0.1, or pass --allow-insecure if the network is trusted`
      })
    )
  })

/** Which roles the original's endpoints take, by path. Reads that are not listed take any role. */
const originalRoles: { readonly [path: string]: ReadonlyArray<TrajectoryApi.Role> } = {
  "/register": ["trainer"],
  "/batch": ["trainer"],
  "/reset_data": ["trainer"],
  "/register-env": ["environment"],
  "/disconnect-env": ["environment"],
  "/scored_data": ["environment"],
  "/scored_data_list": ["environment"]
}

/** Of whoever is known. */
export const anyRole: ReadonlyArray<TrajectoryApi.Role> = ["environment", "trainer", "reader"]

const refuse = (status: number, error: TrajectoryApiError.Unauthorized | TrajectoryApiError.Forbidden) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe({ error: error._tag, message: error.message }, { status }))

/**
 * The path a route was added under, without the prefix it is mounted at; what the request's URL spells it like does not
 * matter.
 */
const pathOf = ({ path, prefix }: HttpRouter.Route<unknown, unknown>): string =>
  Option.match(prefix, { onNone: () => path, onSome: (mounted) => path.slice(mounted.length) || "/" })

/** Middleware for routes that are no part of the versioned definition: the original's, and `/metrics`. */
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
