/**
 * Bearer tokens of the policy server: any of those in `ATROPOS_POLICY_TOKENS` (comma separated) may ask, and may swap
 * adapters.
 *
 * Without the setting nobody is asked for one; the server then listens on loopback alone, unless told otherwise. Tokens
 * are compared by their SHA-256 digests in constant time, and every known one is looked at whatever the outcome.
 */
import * as BrowserGuard from "@atropos/core/http/BrowserGuard"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { type OpenAiApiError, unauthorized } from "./OpenAiApiError.ts"

/** The tokens, or the binding they should protect, are not right; says what to do. */
export class PolicyAuthError extends Schema.TaggedError<PolicyAuthError>()("PolicyAuthError", {
  message: Schema.String
}) {}

/** Fails unless the `authorization` header holds a known token. */
export type Authorize = (header: string | undefined) => Effect.Effect<void, OpenAiApiError>

const digestOf = (token: string): Uint8Array => createHash("sha256").update(token).digest()
const bearer = /^Bearer +(\S+) *$/i

export const make = (tokens: ReadonlyArray<Redacted.Redacted>): Authorize => {
  const known = tokens.map((token) => digestOf(Redacted.value(token)))
  return (header) => {
    if (known.length === 0) return Effect.void
    const token = bearer.exec(header ?? "")?.[1]
    if (token === undefined) {
      return Effect.fail(unauthorized("this server requires a token: send the header `Authorization: Bearer <token>`"))
    }
    const digest = digestOf(token)
    let isKnown = false
    for (const one of known) if (timingSafeEqual(one, digest)) isKnown = true
    return isKnown ? Effect.void : Effect.fail(unauthorized("the token is not known here"))
  }
}

/** The tokens of `ATROPOS_POLICY_TOKENS`; none where it is not set. */
export const configured: Effect.Effect<
  ReadonlyArray<Redacted.Redacted>,
  PolicyAuthError | Config.ConfigError
> = Effect.gen(function* () {
  const setting = yield* Config.option(Config.Redacted("ATROPOS_POLICY_TOKENS"))
  const tokens = Option.match(setting, { onNone: () => "", onSome: Redacted.value })
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "")
  const wrong = tokens.findIndex((token) => token.length < 8 || /\s/.test(token))
  if (wrong !== -1) {
    return yield* new PolicyAuthError({
      message: `ATROPOS_POLICY_TOKENS, entry ${wrong + 1}: a token has at least 8 characters and no spaces`
    })
  }
  return tokens.map((token) => Redacted.make(token))
})

/** Refuses to serve other machines without tokens, unless `allowInsecure` says that this is meant. */
export const requireSafeBinding = (options: {
  readonly host: string
  readonly tokens: ReadonlyArray<Redacted.Redacted>
  readonly allowInsecure: boolean
}): Effect.Effect<void, PolicyAuthError> => {
  if (BrowserGuard.isLoopback(options.host) || options.tokens.length > 0) return Effect.void
  if (options.allowInsecure) {
    return Effect.logWarning("serving other machines without tokens", { host: options.host })
  }
  return Effect.fail(
    new PolicyAuthError({
      message:
        `binding to ${options.host} lets other machines in, and no token is set. Set ATROPOS_POLICY_TOKENS, ` +
        `bind to 127.0.0.1, or pass --allow-insecure if the network is trusted`
    })
  )
}
