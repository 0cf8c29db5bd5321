/** Runs gold and wrong programs of the environments' own banks of problems: a third of them (`Sample`). */
import { assert, layer } from "@effect/vitest"
import { Dataset, Laws, ServerManager, Tokenizer } from "@atropos/core"
import { PythonTests, Sandbox } from "@atropos/envs"
import { Effect, Layer } from "effect"
import { bank } from "../../src/code/Bank.ts"
import { contests } from "../../src/code/ContestBank.ts"
import * as Sample from "../../../core/test/Sample.ts"
import { claimed } from "../TestItems.ts"

/** Another problem to evaluate on: none of the bank is held out. */
const other = { text: "Double.", code: "def double(x):\n    return 2 * x", test_list: ["assert double(2) == 4"] }

const environment = (source: string) =>
  PythonTests.layer({ source, seconds: 30, testSource: "other" }).pipe(
    Layer.provide([ServerManager.layerScripted(["?"]), Tokenizer.layerBytes, Dataset.layerMemory({ other: [other] })])
  )

layer(Sandbox.layerWasi({ workers: 2, timeMillis: 30_000 }), { excludeTestServices: true })("the bank", (it) => {
  for (const [source, { length }] of [["own", bank] as const, ["contests", contests] as const]) {
    it.effect(`passes every solution of ${source}, and none that is changed`, () =>
      Effect.gen(function* () {
        const items = yield* claimed(length)
        assert.strictEqual(new Set(items.map(({ label }) => label)).size, length)
        yield* Effect.forEach(
          Sample.every(3, items),
          ({ gold, score, wrong }) => Laws.goldOnTop(score, gold, wrong, [0, 1]),
          {
            concurrency: 2
          }
        )
      }).pipe(Effect.provide(environment(source)))
    )
  }
})
