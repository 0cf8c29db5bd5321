import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import * as Auth from "../../src/http/Auth.ts"

const tokens = Redacted.make(
  "environment:env-token-1,trainer:trainer-token, reader:read-token-1 ,admin:admin-token,trainer:trainer-token-2"
)

const tried = Effect.fnUntraced(function* (token: string | undefined, role: "environment" | "trainer" | "reader") {
  const auth = yield* Auth.Auth
  return yield* auth
    .authorize(token, [role])
    .pipe(Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: () => "allowed" }))
})

describe("Auth", () => {
  it.effect.each([
    ["env-token-1", ["allowed", "Forbidden", "Forbidden"]],
    ["trainer-token", ["Forbidden", "allowed", "Forbidden"]],
    ["trainer-token-2", ["Forbidden", "allowed", "Forbidden"]],
    ["read-token-1", ["Forbidden", "Forbidden", "allowed"]],
    ["admin-token", ["allowed", "allowed", "allowed"]],
    ["env-token-2", ["Unauthorized", "Unauthorized", "Unauthorized"]],
    [undefined, ["Unauthorized", "Unauthorized", "Unauthorized"]],
    ["", ["Unauthorized", "Unauthorized", "Unauthorized"]]
  ] as const)("lets token %s in where its role may go", ([token, expected]) =>
    Effect.gen(function* () {
      const answers = yield* Effect.forEach(["environment", "trainer", "reader"] as const, (role) => tried(token, role))
      assert.deepStrictEqual(answers, [...expected])
    }).pipe(Effect.provide(Auth.layer(tokens)))
  )

  it.effect("asks nobody where no tokens are set", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tried(undefined, "trainer"), "allowed")
      assert.isFalse((yield* Auth.Auth).isRequired)
    }).pipe(Effect.provide(Auth.layerConfig.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))))
  )

  it.effect("reads ATROPOS_TOKENS", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tried("secret-enough", "trainer"), "allowed")
      assert.strictEqual(yield* tried("secret-enoughX", "trainer"), "Unauthorized")
    }).pipe(
      Effect.provide(
        Auth.layerConfig.pipe(
          Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_TOKENS: "trainer:secret-enough" })))
        )
      )
    )
  )

  it.effect.each([
    ["just-a-token", "entry 1: expected role:token"],
    ["trainer:good-token,boss:other-token", "entry 2: expected role:token"],
    ["trainer:short", "entry 1 (trainer): a token must have at least 8 characters"]
  ] as const)("refuses the setting %s without repeating it", ([setting, expected]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Auth.parse(Redacted.make(setting)))
      assert.include(error.message, expected)
      for (const part of setting.split(/[,:]/).filter((word) => word.includes("-")))
        assert.notInclude(error.message, part)
    })
  )

  it.effect("serves other machines only with tokens, or when told that no tokens are meant", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(Auth.requireSafeBinding({ host: "0.0.0.0", allowInsecure: false }))
      assert.include(refused.message, "ATROPOS_TOKENS")
      assert.include(refused.message, "--allow-insecure")
      yield* Auth.requireSafeBinding({ host: "0.0.0.0", allowInsecure: true })
      for (const host of ["127.0.0.1", "localhost", "::1"]) {
        yield* Auth.requireSafeBinding({ host, allowInsecure: false })
      }
      yield* Auth.requireSafeBinding({ host: "0.0.0.0", allowInsecure: false }).pipe(Effect.provide(Auth.layer(tokens)))
    }).pipe(Effect.provide(Auth.layerOpen))
  )
})
