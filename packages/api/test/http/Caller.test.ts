/** What a token is told that it may do. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { call, layer as serviceLayer } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const rolesOf = (token?: string) =>
  Effect.map(call("/v1/caller", token === undefined ? {} : { token }), (answer) => answer.json()["roles"])

const all = ["environment", "trainer", "reader", "admin"]

layer(serviceLayer(Redacted.make("reader:of-readers,admin:of-admins")).pipe(Layer.provide(TestStore.layer)), {
  excludeTestServices: true
})("GET /v1/caller with tokens", (it) => {
  it.effect("tells the roles of the token, and nothing to strangers", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rolesOf("of-readers"), ["reader"])
      assert.deepStrictEqual(yield* rolesOf("of-admins"), all)
      assert.strictEqual((yield* call("/v1/caller", { token: "another" })).status, 401)
    })
  )
})

layer(serviceLayer().pipe(Layer.provide(TestStore.layer)), { excludeTestServices: true })(
  "GET /v1/caller without tokens",
  (it) => {
    it.effect("tells all roles", () => Effect.map(rolesOf(), (roles) => assert.deepStrictEqual(roles, all)))
  }
)
