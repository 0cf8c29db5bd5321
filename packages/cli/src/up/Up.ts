/**
 * Runs everything in one process with embedded parts: the trajectory service with its HTTP endpoints, an environment, a
 * policy that is sampled and served, and the trainer.
 *
 * For the built-in character tasks the model is made from scratch and warm-started with demonstrations (`Recipe`);
 * otherwise `--model` names one. An interrupted run is resumed by the next start with the same settings.
 */
import { Environment, type MetricsSettings, SequenceLimit } from "@atropos/core"
import {
  Auth,
  Database,
  PgTrajectoryStore,
  S3,
  TrajectoryClientInProcess,
  TrajectoryService,
  TrajectoryStore,
  ViewerPage
} from "@atropos/api"
import type * as Health from "@atropos/core/health/Health"
import * as LossFile from "../config/LossFile.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as ServiceStart from "../config/ServiceStart.ts"
import { Executor } from "@atropos/trainer/exec/Executor"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Console, Effect, Exit, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import * as ProgressDisplay from "../train/ProgressDisplay.ts"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as Report from "../base/Report.ts"
import * as Train from "../train/Train.ts"
import * as Engine from "@atropos/trainer/engine/Engine"
import * as Forecast from "./Forecast.ts"
import * as History from "./History.ts"
import * as Identity from "./Identity.ts"
import * as Loop from "./Loop.ts"
import * as RunEngine from "./RunEngine.ts"
import * as Recipe from "./Recipe.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"
import * as RunFolder from "../train/RunFolder.ts"
import * as VllmEngine from "./VllmEngine.ts"
import * as Watch from "../train/Watch.ts"
import * as RunActivity from "../train/RunActivity.ts"
import * as RunArtifacts from "../train/RunArtifacts.ts"

export interface UpOptions extends Identity.Identifying {
  readonly metrics: MetricsSettings.MetricsSettings
  /** Otherwise `seq_len` is limited to the model's positions. */
  readonly isSeqLenGiven: boolean
  /** Otherwise the number of steps is a default. */
  readonly areStepsGiven: boolean
  readonly fresh: boolean
  /** vLLM samples; otherwise the engine. */
  readonly vllm?: VllmEngine.Vllm | undefined
  readonly policyPort: number
  /** Keeps the viewer up after the last step, until the command is stopped. */
  readonly stays: boolean
  /** Called with the result while the viewer is still up. */
  readonly onResult: (result: UpResult) => Effect.Effect<void>
  readonly host: string
  readonly port: number
}

export interface UpResult extends Loop.Outcome {
  readonly run: RunFolder.RunFolder
  readonly seconds: number
  readonly trained: RunArtifacts.RunArtifacts
  readonly cards: ReadonlyArray<Health.Card>
  readonly isInDoubt: boolean
}

interface Chosen extends UpOptions {
  readonly runFolder: RunFolder.RunFolder
  readonly onStarted: () => void
}

/** The store on the configured database. */
const store = PgTrajectoryStore.layer.pipe(Layer.provide(S3.layerConfig), Layer.provideMerge(Database.layerConfig))

/** The HTTP service over the store, whose page opens the run. */
const service = (options: Pick<Chosen, "runFolder" | "host" | "port">) =>
  TrajectoryService.serve(options).pipe(
    // The port may be taken, for example by `atropos api`: any other port will do for the viewer.
    Layer.catchTag("ListenError", () => TrajectoryService.serve({ ...options, port: 0 })),
    Layer.provide(Layer.succeed(ViewerPage.Opens, options.runFolder.name)),
    Layer.provide(Auth.layerConfig)
  )

/** Models from scratch are small: a single CPU thread is fastest. */
const executor = ({ recipe, trainer: { trainer } }: UpOptions) =>
  Option.isSome(recipe) && trainer.device === "auto"
    ? OrtWorker.layer({ device: "cpu", threads: trainer.threads || 1 })
    : OrtWorker.layer({ device: trainer.device, threads: trainer.threads })

/** Determines which settings of a run on a user's model are unset. */
const unsetIn = ({ areStepsGiven, settings, trainer: { trainer } }: UpOptions) => ({
  answers: settings.every(({ input }) => !("max_token_length" in input)),
  // A recipe sets its own number of steps.
  steps: !areStepsGiven && trainer.trainingSteps === Recipe.ownSteps,
  // `ownModel` sets it; otherwise the environment runs its own evaluations.
  evaluations: settings.every(({ input }) => input["steps_per_eval"] === 0)
})

const train = Effect.fn("Up.train")(
  function* (options: Chosen) {
    const { recipe, runFolder, settings, stepsAhead } = options
    const { trainingSteps } = options.trainer.trainer
    options.onStarted()
    const { address } = yield* HttpServer.HttpServer
    const { kind, location } = yield* Database.Database
    const url = HttpServer.formatAddress(address)
    yield* Console.log(`viewer at ${url}/ui, API documentation at ${url}/v1/docs, metrics at ${url}/metrics`)
    yield* Console.log(
      `trajectory service at ${url} (${kind === "pglite" ? "embedded Postgres in" : "Postgres at"} ${location})`
    )
    yield* Console.log(
      runFolder.done > 0
        ? `resuming ${runFolder.name} after ${runFolder.done} of ${trainingSteps} steps (--fresh starts a new run)`
        : `run ${runFolder.name}, checkpoints in ${runFolder.folder}`
    )
    let isOver = false
    // Printed last, after everything that holds the checkpoint is closed.
    yield* Effect.addFinalizer((exit) =>
      !isOver && Exit.hasInterrupts(exit)
        ? Effect.ignore(RunArtifacts.tellStopped(runFolder.folder, trainingSteps))
        : Effect.void
    )
    const longest = Option.match(recipe, { onNone: () => 0, onSome: ({ longest }) => longest })
    const seqLen = Math.max(options.trainer.trainer.seqLen, longest)
    // Only if requested explicitly: a first try should not upload anything.
    const useWandb = options.trainer.trainer.useWandb || settings.some(({ input }) => input["use_wandb"] === true)
    const place = { folder: runFolder.folder, useWandb: { value: useWandb, isGiven: useWandb } }
    const request = { ...options.trainer.trainer, run: runFolder.name, savePath: runFolder.folder, seqLen }
    const started = yield* Clock.currentTimeMillis
    const trainerSettings = { ...options.trainer, trainer: request }
    const listening = { host: options.host, port: options.policyPort }
    const { elsewhere, forecast, initial, isAdapter, isHere, layer, lost, model, prompts, trained } =
      yield* options.vllm !== undefined
        ? VllmEngine.make(trainerSettings, options.vllm)
        : RemoteEngine.isRemote(trainerSettings)
          ? RunEngine.remote(trainerSettings, listening)
          : RunEngine.local(trainerSettings, recipe, runFolder, options.sampling, listening)
    const { trainer: named } = yield* Train.fitted(trainerSettings, model, options.isSeqLenGiven)
    const trainer: TrainerSettings = {
      ...options.trainer,
      trainer: { ...named, ...(yield* Metrics.announcement(options.metrics, place, named)) }
    }
    yield* Console.log(
      `${settings.map(({ word }) => word).join(" and ")}, batches of ${named.batchSize}, ${trained}; Ctrl-C saves and stops`
    )
    const watch = yield* Watch.make(named)
    const board = yield* ProgressDisplay.make({ total: trainingSteps, done: runFolder.done }, watch)
    const environments = Environment.merge(
      ...settings.map((one) => Services.environment(one, { total_steps: trainingSteps }))
    ).pipe(Layer.provide(Services.auxiliaryServers(settings[0])), Layer.provideMerge(yield* layer(trainer)))
    const { kind: device } = (yield* Executor).device
    yield* watch.follow(yield* RunActivity.here(runFolder.name))
    const answers = { max: Number.POSITIVE_INFINITY }
    const outcome = yield* Loop.run({
      settings: trainer,
      initial,
      objective: yield* LossFile.ofSettings(trainer.loss),
      stepsAhead,
      ...(Option.isNone(recipe) && {
        onReady: (measured, environments) => {
          const made = forecast()
          // Another program samples: its speed is not known here.
          if (made === undefined) return Effect.succeed({ onStep: () => Effect.void })
          return Forecast.make({
            model: made.model,
            device,
            elsewhere,
            trainer: measured,
            environments,
            prompts,
            settings: trainer,
            steps: trainingSteps - runFolder.done,
            folder: runFolder.folder,
            unset: unsetIn(options),
            limitAnswers: (tokens) => void (answers.max = tokens)
          }).pipe(Effect.provideService(Engine.Engine, made.sampler))
        }
      }),
      earlier: {
        curve: yield* History.curve(options.metrics.folder ?? runFolder.folder, runFolder.done),
        before: runFolder.done > 0 ? yield* History.before(runFolder.folder) : Option.none()
      },
      onBefore: (solved) => History.saveBefore(runFolder.folder, solved),
      onStep: (metrics) => Effect.andThen(board.step(metrics), watch.step),
      health: watch.recorder
    }).pipe(
      Effect.provideService(SequenceLimit.AnswerLimit, () => answers.max),
      Effect.raceFirst(lost),
      watch.ending,
      Effect.provide([
        Layer.provideMerge(
          watch.over(Metrics.layer(options.metrics, place)),
          TrajectoryClientInProcess.layer({ run: runFolder.name })
        ),
        environments
      ])
    )
    const result = {
      ...outcome,
      run: runFolder,
      cards: watch.cards(),
      isInDoubt: watch.isInDoubt(),
      seconds: ((yield* Clock.currentTimeMillis) - started) / 1000,
      trained: yield* RunArtifacts.write({
        run: runFolder,
        model,
        isAdapter,
        isHere,
        settings,
        quantize: named.quantize
      })
    } satisfies UpResult
    isOver = true
    yield* options.onResult(result)
    if (!options.stays) return
    yield* Report.done
    yield* Console.log(`\nviewer stays up at ${url}/ui; Ctrl-C to quit`)
    return yield* Effect.never
  },
  Effect.scoped,
  (effect, options) =>
    Effect.provide(effect, [service(options), executor(options), NodeHttpClient.layerUndici]).pipe(
      Metrics.traced(options.metrics, "atropos-up"),
      Heartbeat.whileStopping
    )
)

/** Creates or resumes a run, and trains it on a service in this process. */
export const run = Effect.fn("Up.run")(function* (options: UpOptions) {
  // A mistake in the loss file is reported before anything starts.
  yield* LossFile.ofSettings(options.trainer.loss)
  yield* Console.log(yield* ServiceStart.announcement)
  return yield* Heartbeat.untilStarted("starting the service", (onStarted) =>
    Effect.provide(
      Effect.gen(function* () {
        const runFolder = yield* RunFolder.choose({
          root: ".atropos/up",
          environment: options.settings.map(({ selected }) => selected.environment.environmentName).join("-"),
          identity: Identity.make(options),
          ofToday: Identity.ofToday,
          steps: options.trainer.trainer.trainingSteps,
          fresh: options.fresh,
          store: yield* TrajectoryStore.TrajectoryStore
        })
        return yield* train({ ...options, runFolder, onStarted })
      }),
      store
    )
  )
}, Effect.mapError(Services.toFailure))
