/**
 * Authorizes clients of the policy server, including adapter swaps: any bearer of a token in `ATROPOS_POLICY_TOKENS`
 * (comma separated). Without the setting no token is needed (`BearerTokens`).
 */
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import { Config, Effect, Option, type Redacted } from "effect"
import { type OpenAiApiError, unauthorized } from "./OpenAiApiError.ts"

export const setting = "ATROPOS_POLICY_TOKENS"

/** Fails unless the `authorization` header contains a known token. */
export type Authorize = (header: string | undefined) => Effect.Effect<void, OpenAiApiError>

export const make = (tokens: ReadonlyArray<Redacted.Redacted>): Authorize => {
  const known = tokens.map((token) => BearerTokens.known("client", token))
  return (header) => {
    if (known.length === 0) return Effect.void
    const token = BearerTokens.ofHeader(header)
    if (token === undefined) {
      return Effect.fail(unauthorized("this server requires a token: send the header `Authorization: Bearer <token>`"))
    }
    return BearerTokens.roleOf(known, token) === undefined ? Effect.fail(unauthorized("unknown token")) : Effect.void
  }
}

/** The tokens of `ATROPOS_POLICY_TOKENS`; empty if unset. */
export const configured: Effect.Effect<
  ReadonlyArray<Redacted.Redacted>,
  BearerTokens.AuthConfigError | Config.ConfigError
> = Effect.gen(function* () {
  const tokens = yield* Config.option(Config.Redacted(setting))
  if (Option.isNone(tokens)) return []
  return yield* Effect.forEach(BearerTokens.entries(tokens.value), (token, index) =>
    BearerTokens.parse(token, `${setting}, entry ${index + 1}`)
  )
})
