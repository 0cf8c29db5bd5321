/**
 * Scores Python by running it in the sandbox: functions under tests (built in, rows of HumanEval or MBPP), and contest
 * programs, which read input and print (built in, rows of LiveCodeBench).
 *
 * Score 1 if every test passes, else 0; with `score: share`, the share of assertions or cases that pass. The program is
 * the last code block of the reply. One that runs too long, prints too much, crashes or tries to cheat fails; a broken
 * sandbox fails the rollout instead and is never scored. docs/sandbox.md states what the tests can see of a program.
 */
import { Columns, Dataset, Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as Sandbox from "./sandbox/Sandbox.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Schema, Stream } from "effect"
import { bank } from "./code/Bank.ts"
import { contests } from "./code/ContestBank.ts"
import * as Judging from "./code/Judging.ts"
import * as Problem from "./code/Problem.ts"

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "own",
    "own and contests are built-in banks that need no download, of functions and of programs that read and print; else rows like those of openai/openai_humaneval/test or google-research-datasets/mbpp/full/train, or a file of these or of LiveCodeBench's"
  ),
  testSource: ItemSource.testSource,
  score: Environment.field(
    Schema.Literals(["all", "share"]),
    "all",
    "all: 1 if every assertion or case holds, else 0; share: the share that holds"
  ),
  seconds: Environment.field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    5,
    "time limit for a program with its tests, or for each case of a contest, in seconds; the sandbox of the command allows 60"
  ),
  maxCases: Environment.field(
    Schema.NullOr(Schema.Int.check(Schema.isGreaterThan(0))),
    null,
    "maximum number of cases of a contest problem to run, public ones first; null: all"
  ),
  showTests: Environment.field(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    0,
    "maximum number of tests to show in the prompt; at least one if only the tests name the function (MBPP)"
  )
})

export const layer = Environment.layer("python-tests", settings, (selected) =>
  Effect.gen(function* () {
    const { maxCases, score, seconds, seed, showTests, source, testSource } = selected
    const servers = yield* ServerManager.ServerManager
    const sandbox = yield* Sandbox.Sandbox
    const { columns, fromColumns } = Problem
    const built = builtIn.get(source)
    const { heldOut, train } = yield* built === undefined
      ? ItemSource.rowsAs({ source, testSource, seed, columns }, fromColumns)
      : ownItems(built, testSource, seed)
    const asking = SingleTurn.make(servers, selected, (problem: Problem.Problem) => ({
      messages: [Message.system(instructionsFor(problem)), Message.user(question(problem, showTests))]
    }))

    const limits = { timeMillis: seconds * 1000, maxCases: maxCases ?? Infinity, isAllOrNothing: score === "all" }

    return {
      items: Dataset.shuffle(train, { seed }),
      collectTrajectories: asking.train,
      score: (problem: Problem.Problem, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.suspend(() => {
          const judge = Judging.make(sandbox, problem, limits)
          // If the run stops at the first failing case, the share is meaningless.
          const hasShare = problem.contest === undefined || score === "share"
          const partsOf = (program: number, share: number) => ({
            rewards: { program, ...(hasShare && { tests: share }), complete: Math.floor(share) }
          })
          const judged = ({ completion }: Trajectory.Trajectory) => {
            const program = Problem.programOf(completion, problem)
            return program === undefined
              ? Effect.succeed(partsOf(0, 0))
              : Effect.map(judge(program), (share) => partsOf(1, share))
          }
          return Effect.forEach(group, judged, { concurrency: "unbounded" })
        }).pipe(
          Effect.catchTag("BrokenTests", ({ message }) =>
            Effect.fail(new Environment.Unscorable({ message: `cannot run the tests: ${message}` }))
          )
        ),
      components: {
        weights: { program: 0, tests: 0, complete: 0, [score === "share" ? "tests" : "complete"]: 1 }
      },
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (value: number) => value === 1
      },
      label: ({ question }: Problem.Problem) => question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ contest, solution }: Problem.Problem) =>
          solution === ""
            ? []
            : [block(solution), `<think>\n${block("pass")}</think>\n${contest ? block(solution) : solution}`],
        wrong: ({ contest, solution }: Problem.Problem) => [
          ...(solution === ""
            ? []
            : [
                block(contest ? `${solution}\nprint("more")` : Problem.withChangedReturn(solution)),
                `${block(solution)}\nNo, rather:\n${block("def nothing():\n    pass")}`
              ]),
          "I do not know."
        ]
      }
    }
  })
)

const builtIn: ReadonlyMap<string, ReadonlyArray<Problem.Problem>> = new Map([
  ["own", bank],
  ["contests", contests]
])

const ownItems = Effect.fnUntraced(function* (
  problems: ReadonlyArray<Problem.Problem>,
  testSource: string | null,
  seed: number
) {
  if (testSource === null) {
    const { test, train } = Dataset.split(problems, { seed, testFraction: 0.1 })
    return { train, heldOut: Stream.fromArray(test) }
  }
  const test = builtIn.get(testSource) ?? (yield* Columns.rowsAs(testSource, Problem.columns, Problem.fromColumns))
  return { train: problems, heldOut: Stream.fromArray(test) }
})

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``

const question = ({ contest, entry, question: task, tests }: Problem.Problem, showTests: number): string => {
  if (contest !== undefined) return task
  const visible = tests.slice(0, entry === undefined ? Math.max(1, showTests) : showTests)
  return [
    entry === undefined ? task : `Complete this function.\n\n${block(task.trimEnd())}`,
    ...(visible.length === 0 ? [] : [`It is tested like this:\n\n${block(visible.join("\n"))}`])
  ].join("\n\n")
}

const instructionsFor = ({ contest }: Problem.Problem): string =>
  contest === undefined ? instructions : contest.call === undefined ? contestInstructions : callInstructions

const instructions = `You write Python 3.11 with the standard library. Answer with one block of code, from \`\`\`python to \`\`\`, that has the whole
function and all it needs: imports and helpers too. It is run against tests that you cannot see; what it prints is not looked at.`

const contestInstructions = `You write Python 3.11 with the standard library. Answer with one block of code, from \`\`\`python to \`\`\`, that has a whole
program: it reads its input from standard input and prints what is asked for, and nothing else. It is run on inputs that you cannot see, each with
a time limit.`

const callInstructions = `You write Python 3.11 with the standard library. Answer with one block of code, from \`\`\`python to \`\`\`, that has the whole
solution under the names that are given: imports and helpers too. It is called with arguments that you cannot see, each time with a time limit; what
it prints is not looked at.`
