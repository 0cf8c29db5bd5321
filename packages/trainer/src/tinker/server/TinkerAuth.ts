/**
 * Authorizes clients of the Tinker server by one of the keys in `ATROPOS_TINKER_KEYS` (comma separated) in `X-API-Key`.
 * Without the setting any key is accepted; the SDK only sends keys that start with `tml-`.
 */
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import { Config, Effect, Option, Redacted } from "effect"
import { Refused } from "../service/Failures.ts"

export const setting = "ATROPOS_TINKER_KEYS"

const prefix = "tml-"

export const make = (keys: ReadonlyArray<Redacted.Redacted>) => {
  const known = keys.map((key) => BearerTokens.known("client", key))
  return (header: string | undefined): Effect.Effect<void, Refused> => {
    if (known.length === 0) return Effect.void
    if (header === undefined || header === "") {
      return Effect.fail(new Refused({ status: 401, message: "this server requires a key: set TINKER_API_KEY" }))
    }
    return BearerTokens.roleOf(known, header) === undefined
      ? Effect.fail(new Refused({ status: 401, message: "unknown key in TINKER_API_KEY" }))
      : Effect.void
  }
}

/** The keys of `ATROPOS_TINKER_KEYS`; empty if unset. */
export const configured: Effect.Effect<
  ReadonlyArray<Redacted.Redacted>,
  BearerTokens.AuthConfigError | Config.ConfigError
> = Effect.gen(function* () {
  const keys = yield* Config.option(Config.Redacted(setting))
  if (Option.isNone(keys)) return []
  return yield* Effect.forEach(BearerTokens.entries(keys.value), (key, index) =>
    key.startsWith(prefix)
      ? BearerTokens.parse(key, `${setting}, entry ${index + 1}`)
      : Effect.fail(
          new BearerTokens.AuthConfigError({
            message: `${setting}, entry ${index + 1}: a key must begin with ${prefix}; the SDK rejects others`
          })
        )
  )
})
