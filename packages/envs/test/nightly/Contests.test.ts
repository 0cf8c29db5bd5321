/**
 * Programs for problems in the form of LiveCodeBench's rows, beside the verdicts of its own checker (`testing_util.py`
 * of LiveCodeBench/LiveCodeBench, run_test with 6 seconds, Python 3.11). Programs, problems and cases are this
 * project's; Python packed the cases, by pickles of the protocols 2 to 5 or as JSON. Where `differs` says why, ours is
 * the opposite.
 */
import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Sandbox } from "@atropos/envs"
import { Effect, Result, Schema } from "effect"
import * as Judging from "../../src/code/Judging.ts"
import * as Problem from "../../src/code/Problem.ts"

const Recorded = Schema.Struct({
  rows: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.String)),
  programs: Schema.Array(
    Schema.Struct({
      row: Schema.String,
      name: Schema.String,
      program: Schema.String,
      theirs: Schema.Boolean,
      differs: Schema.optionalKey(Schema.String)
    })
  )
})
const recorded = Schema.decodeUnknownSync(Schema.fromJsonString(Recorded))(
  readFileSync(new URL("../fixtures/livecodebench.json", import.meta.url), "utf8")
)

const limits = { timeMillis: 20_000, maxCases: Infinity, isAllOrNothing: true }

layer(Sandbox.layerWasi({ workers: 2, timeMillis: 20_000 }), { excludeTestServices: true })("LiveCodeBench", (it) => {
  it.effect("decides about programs as its own checker does", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox.Sandbox
      const verdicts = yield* Effect.forEach(
        recorded.programs,
        ({ name, program, row }) => {
          const problem = Result.getOrThrow(Problem.fromColumns(recorded.rows[row]!))
          const judge = Judging.make(
            sandbox,
            problem,
            name === "never ends" ? { ...limits, timeMillis: 1_000 } : limits
          )
          return Effect.map(judge(program), (share) => `${row}: ${name}: ${share === 1}`)
        },
        { concurrency: 2 }
      )
      const expected = recorded.programs.map(
        ({ differs, name, row, theirs }) => `${row}: ${name}: ${differs === undefined ? theirs : !theirs}`
      )
      assert.deepStrictEqual(verdicts, expected)
    })
  )
})
