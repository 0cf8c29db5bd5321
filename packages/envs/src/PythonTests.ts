/**
 * Python functions, judged by running their tests in the sandbox: problems of its own, or rows of HumanEval or MBPP.
 *
 * Score 1 if every test holds, else 0; with `score: share`, the share of assertions that hold. The program is the last
 * block of code of the reply. A program that runs too long, prints too much, crashes or tries to cheat is one that
 * fails; a sandbox that does not work fails the rollout instead and is never scored. See docs/sandbox.md for what the
 * tests can and cannot see of a program.
 */
import {
  Columns,
  Dataset,
  Environment,
  ItemSource,
  Message,
  Sandbox,
  ServerManager,
  SingleTurn,
  type Trajectory
} from "@atropos/core"
import { Effect, Schema, Stream } from "effect"
import { bank } from "./code/Bank.ts"
import * as Problem from "./code/Problem.ts"

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "own",
    "own is a built-in bank that needs no download; else rows like those of openai/openai_humaneval/test or google-research-datasets/mbpp/full/train, or a file of these"
  ),
  testSource: ItemSource.testSource,
  score: Environment.field(
    Schema.Literals(["all", "share"]),
    "all",
    "all: 1 if every assertion holds, else 0; share: the share of assertions that hold"
  ),
  seconds: Environment.field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    5,
    "time limit for a program with its tests, in seconds; the sandbox may allow less"
  ),
  showTests: Environment.field(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    0,
    "maximum number of tests to show in the prompt; at least one if only the tests name the function (MBPP)"
  )
})

export const layer = Environment.layer("python-tests", settings, (chosen) =>
  Effect.gen(function* () {
    const { score, seconds, seed, showTests, source, testSource } = chosen
    const servers = yield* ServerManager.ServerManager
    const sandbox = yield* Sandbox.Sandbox
    const { columns, fromColumns } = Problem
    const own = Dataset.split(bank, { seed, testFraction: 0.1 })
    const { heldOut, train } =
      source !== "own"
        ? yield* ItemSource.rowsAs({ source, testSource, seed, columns }, fromColumns)
        : testSource === null
          ? { train: own.train, heldOut: Stream.fromArray(own.test) }
          : { train: bank, heldOut: Stream.fromArray(yield* Columns.rowsAs(testSource, columns, fromColumns)) }
    const asking = SingleTurn.make(servers, chosen, (problem: Problem.Problem) => ({
      messages: [Message.system(instructions), Message.user(question(problem, showTests))]
    }))

    /** Share of the assertions that hold; of a reply without a program, none. */
    const judge = Effect.fn("PythonTests.judge")(function* (problem: Problem.Problem, reply: string) {
      const program = Problem.programOf(reply)
      if (program === undefined) return 0
      const source = `${problem.preamble}\n\n${program}`
      const { tests } = yield* sandbox.test({ source }, problem, { timeMillis: seconds * 1000 })
      const passed = tests.reduce((sum, one) => sum + one.passed, 0)
      return passed / tests.reduce((sum, { total }) => sum + total, 0)
    })

    return {
      items: Dataset.shuffle(train, { seed }),
      collectTrajectories: asking.train,
      score: (problem: Problem.Problem, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, ({ completion }) => judge(problem, completion), { concurrency: "unbounded" }).pipe(
          Effect.map((shares) => shares.map((share) => (score === "share" ? share : Math.floor(share)))),
          Effect.catchTag("BrokenTests", ({ message }) =>
            Effect.fail(new Environment.Unscorable({ message: `the tests cannot be run: ${message}` }))
          )
        ),
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (value: number) => value === 1
      },
      label: ({ question }: Problem.Problem) => question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ solution }: Problem.Problem) => [block(solution), `<think>\n${block("pass")}</think>\n${solution}`],
        wrong: ({ solution }: Problem.Problem) => [
          block(Problem.withChangedReturn(solution)),
          `${block(solution)}\nNo, rather:\n${block("def nothing():\n    pass")}`,
          "I do not know."
        ]
      }
    }
  })
)

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``

const question = ({ entry, question: task, tests }: Problem.Problem, showTests: number): string => {
  const shown = tests.slice(0, entry === undefined ? Math.max(1, showTests) : showTests)
  return [
    entry === undefined ? task : `Complete this function.\n\n${block(task.trimEnd())}`,
    ...(shown.length === 0 ? [] : [`It is tested like this:\n\n${block(shown.join("\n"))}`])
  ].join("\n\n")
}

const instructions = `You write Python 3.11 with the standard library. Answer with one block of code, from \`\`\`python to \`\`\`, that has the whole
function and all it needs: imports and helpers too. It is run against tests that you cannot see; what it prints is not looked at.`
