import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as BearerTokens from "../../src/http/BearerTokens.ts"

const known = [
  BearerTokens.known("trainer", Redacted.make("token-of-trainers")),
  BearerTokens.known("reader", Redacted.make("token-of-readers")),
  BearerTokens.known("reader", Redacted.make("another-of-readers"))
]

describe("BearerTokens", () => {
  it("gives a token its role, several tokens the same, and a stranger none", () => {
    assert.strictEqual(BearerTokens.roleOf(known, "token-of-trainers"), "trainer")
    assert.strictEqual(BearerTokens.roleOf(known, "token-of-readers"), "reader")
    assert.strictEqual(BearerTokens.roleOf(known, "another-of-readers"), "reader")
    for (const token of ["", "token-of-trainer", "token-of-trainerss", "TOKEN-OF-TRAINERS"]) {
      assert.isUndefined(BearerTokens.roleOf(known, token))
    }
    assert.isUndefined(BearerTokens.roleOf([], "token-of-trainers"))
  })

  it.each<[string | undefined, string | undefined]>([
    ["Bearer token-1", "token-1"],
    ["bearer   token-1  ", "token-1"],
    ["Bearer", undefined],
    ["Bearer two words", undefined],
    ["Basic token-1", undefined],
    ["", undefined],
    [undefined, undefined]
  ])("reads the header %j as the token %j", (header, token) => {
    assert.strictEqual(BearerTokens.ofHeader(header), token)
  })

  it.effect("takes entries apart at commas, and never repeats one that is no token", () =>
    Effect.gen(function* () {
      const entries = BearerTokens.entries(Redacted.make(" first-token, ,second-token,"))
      assert.deepStrictEqual(entries, ["first-token", "second-token"])
      for (const token of ["short", "with a space inside"]) {
        const error = yield* Effect.flip(BearerTokens.parse(token, "TOKENS, entry 1"))
        assert.strictEqual(error.message, "TOKENS, entry 1: a token must have at least 8 characters and no spaces")
      }
    })
  )

  it.effect("lets a server without tokens listen on loopback alone, unless that is meant", () =>
    Effect.gen(function* () {
      const binding = { hasTokens: false, allowInsecure: false, setting: "TOKENS" }
      for (const host of ["127.0.0.1", "127.8.8.8", "localhost", "::1"]) {
        yield* BearerTokens.requireSafeBinding({ ...binding, host })
      }
      for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.example.org", ""]) {
        const error = yield* Effect.flip(BearerTokens.requireSafeBinding({ ...binding, host }))
        assert.include(error.message, "Set TOKENS, bind to 127.0.0.1, or pass --allow-insecure")
        yield* BearerTokens.requireSafeBinding({ ...binding, host, hasTokens: true })
        yield* BearerTokens.requireSafeBinding({ ...binding, host, allowInsecure: true })
      }
    })
  )
})
