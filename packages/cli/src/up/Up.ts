/**
 * The main job in one process, on embedded parts: the trajectory service with its HTTP endpoints, `arithmetic-stories`, a policy
 * that seems to learn, and a consumer that takes batches where a trainer would.
 *
 * Every start is a run of its own, so that an earlier or interrupted one is not in its way; its rollouts stay for browsing.
 */
import { Auth, Database, PgTrajectoryStore, TrajectoryClientInProcess, TrajectoryService } from "@atropos/api"
import { type Batch, Environment, Evaluation, Rollout, ScoredGroup, Tokenizer, TrajectoryClient } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import { Clock, Console, DateTime, Effect, Fiber, FileSystem, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { CommandFailed } from "../Failure.ts"
import * as Progress from "../Progress.ts"
import * as LearningPolicy from "./LearningPolicy.ts"

export interface UpOptions {
  readonly steps: number
  readonly host: string
  readonly port: number
}

export interface UpResult {
  readonly run: string
  readonly steps: number
  readonly sequences: number
  readonly tokens: number
  readonly seconds: number
  /** Mean score of the first and the last tenth of the steps. */
  readonly meanAtStart: number
  readonly meanAtEnd: number
}

const batchSize = 32
const groupSize = 4
/** Stands for the time a trainer takes for its step. */
const stepTime = "150 millis"

const storiesSettings = { seed: 0, difficulty: 2, largestNumber: 20 }

/** The store on the configured database, and the HTTP service over it. */
const service = (options: UpOptions) =>
  TrajectoryService.serve(options).pipe(
    // The port may be taken, by `atropos api` for one: the figures are worth a link all the same.
    Layer.catchTag("ListenError", () => TrajectoryService.serve({ ...options, port: 0 })),
    Layer.provideMerge(PgTrajectoryStore.layer),
    Layer.provide(Auth.layerConfig),
    Layer.provideMerge(Database.layerConfig)
  )

const meanScore = ({ groups }: Batch.Batch): number =>
  Evaluation.mean(groups.flatMap(({ scores }) => Array.from(scores)))

const consume = Effect.fn("Up.consume")(function* (steps: number, onStep: (step: number) => void) {
  const client = yield* TrajectoryClient.TrajectoryClient
  const progress = yield* Progress.make({ unit: "steps", total: steps, done: 0 })
  const started = yield* Clock.currentTimeMillis
  const means: Array<number> = []
  let sequences = 0
  let tokens = 0
  while (means.length < steps) {
    const claimed = yield* client.claim({ owner: "atropos up", wait: "20 seconds", lease: "1 minute" })
    if (Option.isNone(claimed)) {
      return yield* new CommandFailed({
        message: "no batch came within 20 seconds; see the log above for what the environment met"
      })
    }
    const batch = claimed.value
    yield* Effect.sleep(stepTime)
    yield* client.ack(batch)
    means.push(meanScore(batch))
    sequences += batch.groups.reduce((sum, group) => sum + ScoredGroup.size(group), 0)
    tokens += batch.groups.reduce((sum, group) => sum + ScoredGroup.tokenCount(group), 0)
    onStep(means.length)
    const { queueSize } = yield* client.status(0)
    const seconds = Math.max(0.001, ((yield* Clock.currentTimeMillis) - started) / 1000)
    const recent = Evaluation.mean(means.slice(-5))
    yield* client.recordMetrics({ source: "trainer", step: batch.step, values: { "reward/mean": means.at(-1) ?? 0 } })
    yield* progress.update(
      means.length,
      `mean reward ${recent.toFixed(3)} | ${(sequences / seconds).toFixed(0)} sequences/s | ${queueSize} groups queued`
    )
  }
  const tenth = Math.max(1, Math.ceil(steps / 10))
  return {
    sequences,
    tokens,
    seconds: ((yield* Clock.currentTimeMillis) - started) / 1000,
    meanAtStart: Evaluation.mean(means.slice(0, tenth)),
    meanAtEnd: Evaluation.mean(means.slice(-tenth))
  }
}, Effect.scoped)

/** Runs until all steps are done. */
export const run = Effect.fn("Up.run")(
  function* (options: UpOptions) {
    const { steps } = options
    const name = `quick-start-${DateTime.formatIso(yield* DateTime.now)}`
    let done = 0
    const { address } = yield* HttpServer.HttpServer
    const { kind, location } = yield* Database.Database
    const url = HttpServer.formatAddress(address)
    yield* Console.log(
      `trajectory service at ${url} (${kind === "pglite" ? "embedded Postgres in" : "Postgres at"} ${location})`
    )
    yield* Console.log(`its documentation at ${url}/v1/docs, its metrics at ${url}/metrics`)
    yield* Console.log(
      `arithmetic-stories with a scripted policy, batches of ${batchSize}, ${steps} steps; Ctrl-C stops it\n`
    )

    const client = TrajectoryClientInProcess.layer({ run: name })
    const environment = ArithmeticStories.layer({
      ...storiesSettings,
      groupSize,
      totalSteps: steps,
      useWandb: false
    }).pipe(
      Layer.provideMerge(LearningPolicy.layer({ ...storiesSettings, progress: () => done / steps })),
      Layer.provideMerge(Tokenizer.layerBytes)
    )
    const result = yield* Effect.gen(function* () {
      const { registerRun } = yield* TrajectoryClient.TrajectoryClient
      yield* registerRun({
        name,
        batchSize,
        maxTokenLength: 2048,
        startingStep: 0,
        numSteps: steps,
        checkpointDir: "",
        saveCheckpointInterval: 0,
        wandbGroup: "",
        wandbProject: ""
      })
      // The service is in this process: what could not be sent to it belongs to no later run.
      const files = yield* FileSystem.FileSystem
      const spoolDirectory = yield* Effect.orDie(files.makeTempDirectoryScoped({ prefix: "atropos-spool-" }))
      // Scoped, so that it is stopped while the service is still there to take what it has.
      const rollouts = yield* Effect.forkScoped(Rollout.run(yield* Environment.Environment, { spoolDirectory }))
      const consuming = consume(steps, (step) => {
        done = step
      })
      // An environment that fails ends the whole; one that is through waits for the consumer.
      const consumed = yield* Effect.raceFirst(consuming, Effect.andThen(Fiber.join(rollouts), Effect.never))
      yield* Fiber.interrupt(rollouts)
      return consumed
    }).pipe(Effect.scoped, Effect.provide([client, environment]))
    return { run: name, steps, ...result } satisfies UpResult
  },
  (effect, options) =>
    Effect.andThen(
      Console.log("starting the service (its database takes some seconds the first time)"),
      Effect.provide(effect, service(options))
    )
)
