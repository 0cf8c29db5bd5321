/**
 * Computes the share of its tests that a program passes in the sandbox: assertions, which run in the same program, or
 * cases of a contest, each a separate run with its own time limit.
 */
import type * as Sandbox from "../sandbox/Sandbox.ts"
import { Effect } from "effect"
import * as Contest from "./Contest.ts"
import * as Output from "./Output.ts"
import * as Preamble from "./Preamble.ts"
import type { Problem } from "./Problem.ts"

export interface Limits {
  /** For a program with all its assertions, or with one case. */
  readonly timeMillis: number
  readonly maxCases: number
  /** Stops at the first failing case: the rest would change nothing. */
  readonly isAllOrNothing: boolean
}

const passes = Effect.fnUntraced(function* (
  sandbox: Sandbox.SandboxShape,
  source: string,
  { call }: Contest.Contest,
  { input, output }: Contest.Case,
  timeMillis: number
) {
  if (call === undefined) {
    const { ending, stdout } = yield* sandbox.run({ source, stdin: input }, { timeMillis })
    return ending === "finished" && Output.isRight(output, stdout)
  }
  const { tests } = yield* sandbox.test(
    { source: `import json\n${source}\n${Contest.calling(call)}` },
    {
      setup: "import json",
      tests: [`assert ${Contest.callName}(${JSON.stringify(input)}) == json.loads(${JSON.stringify(output)})`],
      asks: [Contest.callName]
    },
    { timeMillis }
  )
  return tests.every(({ passed, total }) => passed === total)
})

/** Judges programs for a problem, each by the share of cases, or of assertions, that it passes. */
export const make = (
  sandbox: Sandbox.SandboxShape,
  problem: Problem,
  { isAllOrNothing, maxCases, timeMillis }: Limits
) => {
  const { contest, preamble } = problem
  const cases = contest?.cases().slice(0, maxCases) ?? []
  return Effect.fn("Judging.share")(function* (program: string) {
    if (contest === undefined) {
      const source = `${preamble}\n\n${program}`
      const { tests } = yield* sandbox.test({ source }, problem, { timeMillis })
      const passed = tests.reduce((sum, one) => sum + one.passed, 0)
      return passed / tests.reduce((sum, { total }) => sum + total, 0)
    }
    const source = `${Preamble.of(program)}\n\n${program}`
    let passed = 0
    for (const one of cases) {
      if (yield* passes(sandbox, source, contest, one, timeMillis)) passed++
      else if (isAllOrNothing) break
    }
    return passed / cases.length
  })
}
