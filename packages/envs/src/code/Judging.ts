/**
 * What share of its tests a program passes, in the sandbox: assertions, which run beside it, or cases of a contest,
 * each of which is a run of its own with a time limit of its own.
 */
import type { Sandbox } from "@atropos/core"
import { Effect } from "effect"
import * as Contest from "./Contest.ts"
import * as Output from "./Output.ts"
import * as Preamble from "./Preamble.ts"
import type { Problem } from "./Problem.ts"

export interface Limits {
  /** Of a program with all its assertions, or with one case. */
  readonly timeMillis: number
  /** Cases of a contest that are tried. */
  readonly maxCases: number
  /** Whether the first case that fails ends it: the rest would change nothing. */
  readonly isAllOrNothing: boolean
}

/** Whether a program does what one case asks. */
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

/** What judges programs for a problem: each by the share of the cases, or of the assertions, that it passes. */
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
