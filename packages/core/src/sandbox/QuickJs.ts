/**
 * JavaScript in QuickJS, in threads: a fresh engine for every run, and another for its tests (`QuickJsThread`).
 *
 * The engine stops a program at its limits; a thread that does not answer a second after the time limit is ended and
 * replaced.
 */
import type { ResourceLimits } from "node:worker_threads"
import { Duration, Effect, Option, Pool, Schema, type Scope } from "effect"
import * as Optional from "../base/Optional.ts"
import { type Limits, SandboxError } from "./Interpreter.ts"
import type { FromThread, Job, ThreadData } from "./QuickJsThread.ts"
import { BrokenTests, endingOf, type Outcome, type Program, type Tested, type TestResult, type Tests } from "./Runs.ts"
import * as SharedOutput from "./SharedOutput.ts"
import * as Thread from "./Thread.ts"

export interface Options {
  readonly workers: number
  readonly memoryBytes: number
  readonly outputBytes: number
}

const packages = ["quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync"] as const
const idle = Duration.minutes(2)
const startTimeout = Duration.seconds(30)
const patience = Duration.seconds(1)
const launches = 3

const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }

interface Engine extends Thread.Thread<Job, FromThread> {
  readonly output: SharedOutput.SharedOutput
}

export const make = Effect.fn("QuickJs.make")(function* ({ memoryBytes, outputBytes, workers }: Options) {
  const start: Effect.Effect<Engine, SandboxError, Scope.Scope> = Effect.gen(function* () {
    yield* Optional.folder(packages, "JavaScript in WebAssembly").pipe(
      Effect.mapError((cause) => new SandboxError({ message: `QuickJS cannot be loaded: ${cause.message}`, cause }))
    )
    const output = new SharedArrayBuffer(SharedOutput.bytesFor(outputBytes))
    const workerData: ThreadData = { memoryBytes, output }
    const thread = yield* Thread.start<Job, FromThread>("QuickJsThread", { workerData, resourceLimits })
    yield* thread.next.pipe(
      Effect.mapError(({ why }) => new SandboxError({ message: `QuickJS did not start: ${why}` })),
      Effect.timeoutOrElse({
        duration: startTimeout,
        orElse: () => Effect.fail(new SandboxError({ message: "QuickJS did not start in time" }))
      })
    )
    return { ...thread, output: SharedOutput.over(output) }
  })
  const pool = yield* Pool.makeWithTTL({ acquire: start, min: 0, max: workers, timeToLive: idle })

  const attempt = Effect.fnUntraced(function* (job: Job) {
    const engine = yield* Effect.retry(Pool.get(pool), { times: launches - 1 })
    SharedOutput.clear(engine.output)
    engine.post(job)
    const limit = Duration.sum(Duration.millis(job.timeMillis), patience)
    const [elapsed, message] = yield* engine.next.pipe(
      Effect.catch(({ outOfMemory, why }) =>
        Effect.succeed<FromThread>({ type: "done", ended: { ending: "lost", outOfMemory, why }, isLate: false })
      ),
      Effect.timeoutOption(limit),
      Effect.onInterrupt(() => Pool.invalidate(pool, engine)),
      Effect.timed
    )
    const done = Option.filter(message, (one) => one.type === "done")
    if (Option.isNone(done) || done.value.ended.ending === "lost" || done.value.ended.ending === "crashed") {
      yield* Pool.invalidate(pool, engine)
    }
    const output = { stdout: SharedOutput.read(engine.output, 1), stderr: SharedOutput.read(engine.output, 2) }
    const inTime = Option.filter(done, ({ isLate }) => !isLate)
    const outcome: Outcome = {
      ...output,
      ...endingOf(
        Option.map(inTime, ({ ended }) => ended),
        output
      ),
      millis: Duration.toMillis(elapsed)
    }
    return { outcome, answer: Option.getOrUndefined(done)?.answer }
  }, Effect.scoped)

  return {
    run: (program: Program, limits: Limits) => Effect.map(attempt(jobOf(program, limits)), ({ outcome }) => outcome),
    test: Effect.fnUntraced(function* (program: Program, { entry, setup = "", tests }: Tests, limits: Limits) {
      const { answer, outcome } = yield* attempt({
        ...jobOf(program, limits),
        tests: { setup, tests, entry: entry ?? null }
      })
      const tested: Tested = { outcome, tests: yield* resultsOf(tests.length, answer, outcome) }
      return tested
    })
  }
})

const jobOf = ({ source, stdin = "" }: Program, limits: Limits): Job => ({ source, stdin, ...limits })

const Answer = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ broken: Schema.String }),
    Schema.Struct({
      tests: Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural, Schema.NullOr(Schema.String)]))
    })
  ])
)
const decodeAnswer = Schema.decodeUnknownOption(Answer)

const resultsOf = (
  count: number,
  text: string | undefined,
  { ending, stderr }: Outcome
): Effect.Effect<ReadonlyArray<TestResult>, BrokenTests> => {
  const answer = Option.getOrUndefined(decodeAnswer(text))
  if (answer === undefined) {
    const error = stderr.split("\n", 1)[0] || `the program ended: ${ending}`
    return Effect.succeed(Array.from({ length: count }, () => ({ passed: 0, total: 1, error })))
  }
  return "broken" in answer
    ? Effect.fail(new BrokenTests({ message: answer.broken }))
    : Effect.succeed(
        answer.tests.map(([passed, total, error]) => ({ passed, total, ...(error !== null && { error }) }))
      )
}
