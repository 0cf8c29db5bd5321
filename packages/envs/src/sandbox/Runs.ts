/**
 * Runs a program once, alone or under tests, on any interpreters: time limit, clean-up, and how it ended.
 *
 * Anything that happens to an interpreter during a run only affects that run: it is replaced, and the next run gets
 * another. Time counts from the moment the interpreter is ready. Test results come from the judge alone, under the
 * token of this run.
 */
import { randomInt, randomUUID } from "node:crypto"
import { Duration, Effect, Exit, Option, Pool, Schema, Scope } from "effect"
import {
  type Ended,
  type Interpreters,
  type Judge,
  type JudgeJob,
  type Limits,
  type Output,
  type Runner,
  type RunnerJob,
  SandboxError
} from "./Interpreter.ts"

export type Ending = "finished" | "failed" | "timeLimit" | "memoryLimit" | "outputLimit" | "crashed"

/** The result of a run. Nothing a program reports about itself proves anything. */
export interface Outcome extends Output {
  readonly ending: Ending
  /** Set if the program ended by itself. */
  readonly exitCode?: number
  readonly millis: number
}

/** The result of one test: passed assertions and their total. */
export interface TestResult {
  readonly passed: number
  /** At least 1. */
  readonly total: number
  readonly error?: string
}

export interface Tested {
  readonly outcome: Outcome
  readonly tests: ReadonlyArray<TestResult>
}

/** The tests are at fault, not the program: they do not parse, or their setup fails. */
export class BrokenTests extends Schema.TaggedError<BrokenTests>()("BrokenTests", { message: Schema.String }) {}

/** Grace period for a program to stop, or a judge to answer. */
const grace = Duration.seconds(2)

export interface Program {
  readonly source: string
  readonly stdin?: string
}

export interface Tests {
  /** Run before the tests, in their interpreter: imports and helpers. */
  readonly setup?: string
  /** Each runs separately, in one scope. */
  readonly tests: ReadonlyArray<string>
  /** The name the tests ask for, even if the setup defines it too. */
  readonly entry?: string
  /** All names that the tests ask the program for, if known. Other names of the standard library are the library's. */
  readonly asks?: ReadonlyArray<string>
}

export const run = <R extends Runner, J extends Judge>(
  interpreters: Interpreters<R, J>,
  program: Program,
  limits: Limits
): Effect.Effect<Outcome, SandboxError> =>
  Effect.map(
    withRunner(interpreters, (runner) => {
      interpreters.begin(runner, jobOf(program, false, limits))
      return Effect.timed(Effect.timeoutOption(runner.ended, limits.timeMillis)).pipe(
        Effect.map(([elapsed, ended]) => ({ ended, elapsed, output: runner.output() }))
      )
    }),
    ({ elapsed, ended, output }) => ({ ...output, ...endingOf(ended, output), millis: Duration.toMillis(elapsed) })
  )

export const test = Effect.fnUntraced(function* <R extends Runner, J extends Judge>(
  interpreters: Interpreters<R, J>,
  program: Program,
  tests: Tests,
  limits: Limits
) {
  const job: JudgeJob = {
    number: randomInt(2 ** 31),
    token: randomUUID(),
    setup: tests.setup ?? "",
    tests: tests.tests,
    entry: tests.entry ?? null,
    asks: tests.asks ?? null
  }
  const judge = Effect.fnUntraced(function* (judge: J, runner: R) {
    interpreters.begin(runner, jobOf(program, true, limits), { judge, job })
    const [elapsed, answer] = yield* Effect.timed(Effect.timeoutOption(judge.answer, limits.timeMillis))
    if (Option.isNone(answer)) {
      judge.abandon(job.number, "the time limit was reached")
      // Results found in time still count.
      const late = Option.getOrUndefined(yield* Effect.timeoutOption(judge.answer, grace))
      return { answer: late, elapsed, ended: Option.none<Ended>(), output: runner.output() }
    }
    runner.stop()
    const ended = yield* Effect.timeoutOption(runner.ended, grace)
    return { answer: answer.value, elapsed, ended, output: runner.output() }
  })
  const { answer, elapsed, ended, output } = yield* withJudge(interpreters, (one) =>
    withRunner(interpreters, (runner) => judge(one, runner))
  )
  const ending = endingOf(ended, output)
  // A program under tests must not exit.
  const early = ending.exitCode === undefined ? {} : { ending: "failed" as const }
  const tested: Tested = {
    outcome: { ...output, ...ending, ...early, millis: Duration.toMillis(elapsed) },
    tests: yield* resultsOf(job, answer)
  }
  return tested
})

const jobOf = ({ source, stdin = "" }: Program, serve: boolean, { outputBytes }: Limits): RunnerJob => ({
  source,
  stdin,
  serve,
  outputBytes
})

/** Borrows a runner; one that did not end cleanly is not reused. */
const withRunner = <R extends Runner, J extends Judge, A extends { readonly ended: Option.Option<Ended> }, E>(
  { keepsRunners, runners, scope }: Interpreters<R, J>,
  use: (runner: R) => Effect.Effect<A, E>
): Effect.Effect<A, E | SandboxError> =>
  borrowed(runners, scope, use, ({ ended }) => keepsRunners && Option.isSome(ended) && ended.value.ending !== "lost")

/** Borrows a judge; one without an answer is not reused. */
const withJudge = <R extends Runner, J extends Judge, A extends { readonly answer: string | undefined }, E>(
  { judges, scope }: Interpreters<R, J>,
  use: (judge: J) => Effect.Effect<A, E>
): Effect.Effect<A, E | SandboxError> => borrowed(judges, scope, use, ({ answer }) => answer !== undefined)

const launches = 3

/**
 * Uses a ready interpreter, and returns it once it is ready again, in the background. A failed launch is retried; later
 * failures are not, because the program may have run.
 */
const borrowed = <I extends Runner | Judge, A, E>(
  pool: Pool.Pool<I, SandboxError>,
  scope: Scope.Scope,
  use: (one: I) => Effect.Effect<A, E>,
  isReusable: (result: A) => boolean
): Effect.Effect<A, E | SandboxError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const lease = yield* Scope.make()
      const one = yield* restore(Effect.retry(Pool.get(pool), { times: launches - 1 })).pipe(
        Effect.provideService(Scope.Scope, lease),
        Effect.onError(() => Scope.close(lease, Exit.void))
      )
      const exit = yield* Effect.exit(restore(use(one)))
      const discard = Pool.invalidate(pool, one)
      const giveBack =
        Exit.isSuccess(exit) && isReusable(exit.value) ? one.ready.pipe(Effect.catch(() => discard)) : discard
      yield* Effect.interruptible(giveBack).pipe(
        Effect.ensuring(Scope.close(lease, Exit.void)),
        Effect.forkIn(scope, { startImmediately: true })
      )
      return yield* exit
    })
  )

/** Python's message. */
const outOfMemory = /^MemoryError\b/m

export const endingOf = (ended: Option.Option<Ended>, { stderr }: Output): Pick<Outcome, "ending" | "exitCode"> => {
  if (Option.isNone(ended)) return { ending: "timeLimit" }
  const how = ended.value
  switch (how.ending) {
    case "exited": {
      const isOutOfMemory = how.exitCode !== 0 && outOfMemory.test(stderr)
      const ending = how.exitCode === 0 ? "finished" : isOutOfMemory ? "memoryLimit" : "failed"
      return { ending, exitCode: how.exitCode }
    }
    case "stopped":
      return { ending: "finished" }
    case "outputLimit":
      return { ending: "outputLimit" }
    case "crashed":
      return { ending: "crashed" }
    case "lost":
      return { ending: how.outOfMemory ? "memoryLimit" : "crashed" }
  }
}

const Verdict = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ token: Schema.String, broken: Schema.String }),
    Schema.Struct({
      token: Schema.String,
      tests: Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural, Schema.NullOr(Schema.String)]))
    })
  ])
)
const decodeVerdict = Schema.decodeUnknownOption(Verdict)

/** A judge that crashed on the program's values, or whose answer is not of this run, has passed nothing. */
const resultsOf = (
  { tests, token }: JudgeJob,
  answer: string | undefined
): Effect.Effect<ReadonlyArray<TestResult>, BrokenTests> => {
  const verdict = Option.getOrUndefined(decodeVerdict(answer))
  if (verdict?.token !== token) {
    return Effect.succeed(tests.map(() => ({ passed: 0, total: 1, error: "the tests did not come to an end" })))
  }
  return "broken" in verdict
    ? Effect.fail(new BrokenTests({ message: verdict.broken }))
    : Effect.succeed(
        verdict.tests.map(([passed, total, error]) => ({ passed, total, ...(error !== null && { error }) }))
      )
}
