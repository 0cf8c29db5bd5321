/** The environments' own bank of problems, all of it: two programs for each. */
import { assert, layer } from "@effect/vitest"
import { Dataset, Laws, Sandbox, ServerManager, Tokenizer } from "@atropos/core"
import { PythonTests } from "@atropos/envs"
import { Effect, Layer } from "effect"
import { bank } from "../../src/code/Bank.ts"
import { claimed } from "../TestItems.ts"

/** Another problem to evaluate on: none of the bank is held out. */
const other = { text: "Double.", code: "def double(x):\n    return 2 * x", test_list: ["assert double(2) == 4"] }

const environment = PythonTests.layer({ seconds: 30, testSource: "other" }).pipe(
  Layer.provide([ServerManager.layerScripted(["?"]), Tokenizer.layerBytes, Dataset.layerMemory({ other: [other] })])
)

layer(Sandbox.layerWasi({ workers: 2, timeMillis: 30_000 }), { excludeTestServices: true })("the bank", (it) => {
  it.effect("passes every solution, and none that is changed at its last return", () =>
    Effect.gen(function* () {
      const items = yield* claimed(bank.length)
      assert.strictEqual(new Set(items.map(({ label }) => label)).size, bank.length)
      yield* Effect.forEach(items, ({ gold, score, wrong }) => Laws.goldOnTop(score, gold, wrong, [0, 1]), {
        concurrency: 2
      })
    }).pipe(Effect.provide(environment))
  )
})
