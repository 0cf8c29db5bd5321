/** The lines that the process of a service printed, over HTTP. */
import { ConsoleLines, make } from "@atropos/core/base/ConsoleLines"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { call, layer as serviceLayer } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const lines = make()

layer(
  serviceLayer(Redacted.make("reader:of-readers")).pipe(
    Layer.provide(TestStore.layer),
    Layer.provide(Layer.succeed(ConsoleLines, lines))
  ),
  { excludeTestServices: true }
)("GET /v1/console", (it) => {
  it.effect("gives readers what was printed since, and refuses strangers", () =>
    Effect.gen(function* () {
      const printed = Effect.map(call("/v1/console", { token: "of-readers" }), (answer) => answer.json())
      assert.deepStrictEqual(yield* printed, { lines: [] })
      lines.add(1_000, "step 1/2")
      assert.deepStrictEqual(yield* printed, { lines: [{ at: 1_000, text: "step 1/2" }] })
      assert.strictEqual((yield* call("/v1/console", { token: "another" })).status, 401)
    })
  )
})
