import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import * as Address from "../../src/tinker/client/Address.ts"

const reading = (text: string, key?: string) =>
  Effect.provide(
    Address.read(text),
    ConfigProvider.layer(ConfigProvider.fromUnknown(key === undefined ? {} : { TINKER_API_KEY: key }))
  )

describe("the address of an engine", () => {
  it.effect("is a URL with tinker+ before it, and has the key of the environment", () =>
    Effect.gen(function* () {
      const { apiKey, url } = yield* reading("tinker+https://tinker.example.com/", "tml-secret")
      assert.strictEqual(url, "https://tinker.example.com")
      assert.strictEqual(apiKey && Redacted.value(apiKey), "tml-secret")
      assert.notInclude(JSON.stringify({ url, apiKey }), "secret")
    })
  )

  it.effect("needs no key on this machine", () =>
    Effect.gen(function* () {
      for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
        assert.deepStrictEqual(yield* reading(`tinker+http://${host}:8000/api/v1`), {
          url: `http://${host}:8000`,
          apiKey: undefined
        })
      }
    })
  )

  it.effect.each([
    ["tinker+https://tinker.example.com", /needs a key: set TINKER_API_KEY/],
    ["tinker+https://tml-secret@tinker.example.com", /must not contain a key: set TINKER_API_KEY/],
    ["https://tinker.example.com", /expected tinker\+https/],
    ["tinker+tinker.example.com", /not a valid address/],
    ["tinker+ftp://tinker.example.com", /not an HTTP address/],
    ["tinker+http://localhost:8000?key=tml-secret", /contains \? or #/]
  ] as const)("is refused, and never shown with a key: %s", ([text, expected]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(reading(text))
      assert.match(message, expected)
      assert.notInclude(message, "secret")
    })
  )
})
