/**
 * Bearer tokens of our servers: their configuration and verification, and restrictions without them.
 *
 * Tokens are stored as SHA-256 digests and compared in constant time; every known one is compared regardless of the
 * outcome. No message ever contains a token. A server without tokens listens on loopback only, unless configured
 * otherwise.
 */
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import * as BrowserGuard from "./BrowserGuard.ts"

/** The tokens, or the address they should protect, are invalid; states how to fix it. */
export class AuthConfigError extends Schema.TaggedError<AuthConfigError>()("AuthConfigError", {
  message: Schema.String
}) {}

export interface KnownToken<Role> {
  readonly role: Role
  readonly digest: Uint8Array
}

const digestOf = (token: string): Uint8Array => createHash("sha256").update(token).digest()

/** The comma-separated entries of a setting with several tokens. */
export const entries = (setting: Redacted.Redacted): ReadonlyArray<string> =>
  Redacted.value(setting)
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")

/** Validates the length of a token; `entry` names its position in the settings. */
export const parse = (token: string, entry: string): Effect.Effect<Redacted.Redacted, AuthConfigError> =>
  token.length < 8 || /\s/.test(token)
    ? Effect.fail(new AuthConfigError({ message: `${entry}: a token must have at least 8 characters and no spaces` }))
    : Effect.succeed(Redacted.make(token))

/** The tokens of a comma-separated setting; empty if it is unset. */
export const configured = Effect.fnUntraced(function* (setting: string) {
  const tokens = yield* Config.option(Config.Redacted(setting))
  if (Option.isNone(tokens)) return []
  return yield* Effect.forEach(entries(tokens.value), (token, index) => parse(token, `${setting}, entry ${index + 1}`))
})

export const known = <Role>(role: Role, token: Redacted.Redacted): KnownToken<Role> => ({
  role,
  digest: digestOf(Redacted.value(token))
})

/** The role of a token; undefined if it is unknown. */
export const roleOf = <Role>(tokens: ReadonlyArray<KnownToken<Role>>, token: string): Role | undefined => {
  const digest = digestOf(token)
  let role: Role | undefined
  for (const one of tokens) if (timingSafeEqual(one.digest, digest)) role = one.role
  return role
}

/** Fails with one of the failures unless a client's token is one of these; without any, every client is allowed. */
export const authorizer = <E>(
  tokens: ReadonlyArray<Redacted.Redacted>,
  failures: { readonly missing: E; readonly unknown: E }
): ((token: string | undefined) => Effect.Effect<void, E>) => {
  const all = tokens.map((token) => known("client", token))
  return (token) => {
    if (all.length === 0) return Effect.void
    if (token === undefined || token === "") return Effect.fail(failures.missing)
    return roleOf(all, token) === undefined ? Effect.fail(failures.unknown) : Effect.void
  }
}

const bearer = /^Bearer +(\S+) *$/i

/** The token in an `authorization` header, if any. */
export const ofHeader = (header: string | undefined): string | undefined => bearer.exec(header ?? "")?.[1]

/** Refuses to serve other machines without tokens, unless `allowInsecure` is set. */
export const requireSafeBinding = (options: {
  readonly host: string
  readonly hasTokens: boolean
  readonly allowInsecure: boolean
  /** Description of the setting for tokens: the variable, possibly with an example. */
  readonly setting: string
}): Effect.Effect<void, AuthConfigError> => {
  if (BrowserGuard.isLoopback(options.host) || options.hasTokens) return Effect.void
  if (options.allowInsecure) {
    return Effect.logWarning("serving other machines without tokens", { host: options.host })
  }
  return Effect.fail(
    new AuthConfigError({
      message:
        `binding to ${options.host} serves other machines, but no token is set. Set ${options.setting}, ` +
        `bind to 127.0.0.1, or pass --allow-insecure if the network is trusted`
    })
  )
}
