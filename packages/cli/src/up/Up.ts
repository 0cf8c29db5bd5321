/**
 * The main job in one process, on embedded parts: the trajectory service with its HTTP endpoints, an environment, a
 * policy that is sampled from and served, and the trainer.
 *
 * For the built-in tasks of characters the model is made from scratch and shown demonstrations first (`Recipe`); for
 * everything else `--model` names one. A run that was interrupted is gone on with by the next start with the same
 * settings.
 */
import { Environment, type MetricsSettings } from "@atropos/core"
import { Auth, Database, PgTrajectoryStore, TrajectoryClientInProcess, TrajectoryService } from "@atropos/api"
import * as LossFile from "../config/LossFile.ts"
import * as Metrics from "../config/Metrics.ts"
import type { RunSettings } from "../config/RunSettings.ts"
import * as Services from "../config/Services.ts"
import { Executor } from "@atropos/trainer/exec/Executor"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import * as KeptWeights from "@atropos/trainer/checkpoint/KeptWeights"
import * as LocalLearner from "@atropos/trainer/local/LocalLearner"
import * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import type { Trainer } from "@atropos/trainer/run/Trainer"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as WarmStart from "@atropos/trainer/learn/WarmStart"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { type Array as Arr, Clock, Console, Effect, Exit, Layer, Option, Path, Struct } from "effect"
import { HttpServer } from "effect/http"
import * as Summary from "../job/Summary.ts"
import * as Publisher from "../train/Publisher.ts"
import * as Progress from "../base/Progress.ts"
import * as ProgressFigures from "../train/ProgressFigures.ts"
import * as Train from "../train/Train.ts"
import * as History from "./History.ts"
import * as Loop from "./Loop.ts"
import * as OwnRecipe from "./OwnRecipe.ts"
import * as Plan from "./Plan.ts"
import type * as Recipe from "./Recipe.ts"
import * as RunFolder from "../train/RunFolder.ts"
import * as ServedPolicy from "./ServedPolicy.ts"
import * as RunArtifacts from "../train/RunArtifacts.ts"

export interface UpOptions {
  /** One for each environment. */
  readonly settings: Arr.NonEmptyReadonlyArray<RunSettings>
  readonly trainer: TrainerSettings
  readonly metrics: MetricsSettings.MetricsSettings
  readonly recipe: Option.Option<Recipe.Recipe>
  /** Else `seq_len` is no more than the model has positions. */
  readonly isSeqLenGiven: boolean
  readonly stepsAhead: number
  readonly fresh: boolean
  readonly policyPort: number
  readonly host: string
  readonly port: number
}

export interface UpResult extends Loop.Outcome {
  readonly run: RunFolder.RunFolder
  readonly seconds: number
  readonly trained: RunArtifacts.RunArtifacts
}

/** The store on the configured database, and the HTTP service over it. */
const service = (options: Pick<UpOptions, "host" | "port">) =>
  TrajectoryService.serve(options).pipe(
    // The port may be taken, by `atropos api` for one: the figures are worth a link all the same.
    Layer.catchTag("ListenError", () => TrajectoryService.serve({ ...options, port: 0 })),
    Layer.provideMerge(PgTrajectoryStore.layer),
    Layer.provide(Auth.layerConfig),
    Layer.provideMerge(Database.layerConfig)
  )

/** Nothing has to be computed again for a small model. */
const small = { remat: false }

/** A model from scratch that has seen the form of its task, now or when its run began. */
const fromScratch = Effect.fn("Up.fromScratch")(function* (
  recipe: Recipe.Recipe,
  { seed, seqLen }: TrainerSettings["trainer"],
  { folder }: RunFolder.RunFolder
) {
  const { characters, embeddingDeviation } = recipe
  const model = yield* TinyModel.makeYielding({
    characters,
    seed,
    maxPositions: seqLen,
    ...(embeddingDeviation !== undefined && { embeddingDeviation })
  })
  const { encode } = model.tokenizer
  const { batchSize, learningRate, steps } = recipe.warmStart
  if (steps === 0) return { model, initial: undefined }
  const kept = (yield* Path.Path).join(folder, "warm-start")
  const earlier = yield* KeptWeights.read(kept)
  if (Option.isSome(earlier)) return { model, initial: earlier.value }
  const progress = yield* Progress.make({ unit: "warm-up steps", total: steps, done: 0 })
  const learner = yield* WarmStart.run({
    batchSize,
    learningRate,
    steps,
    demonstration: (index) => {
      const { completion, prompt } = recipe.demonstration(index)
      return {
        prompt: encode(OwnRecipe.promptText(prompt)),
        completion: [...encode(completion), ...model.config.eosTokenIds]
      }
    },
    onStep: (step, loss) => progress.update(step, `loss ${loss.toFixed(3)}`)
  }).pipe(Effect.provide(LocalLearner.layer({ model: Model.trainable(model), graph: { ...small, entropy: false } })))
  yield* KeptWeights.save(kept, learner)
  return { model, initial: Option.getOrUndefined(yield* KeptWeights.read(kept)) }
}, Effect.scoped)

/** A model of a folder or the hub, with an adapter or whole. */
const pretrained = ({ lora, trainer }: TrainerSettings) =>
  PretrainedModel.load(trainer.model, {
    trains: trainer.trains === "all" ? "all" : lora,
    seed: trainer.seed,
    maxPositions: trainer.seqLen
  })

/** What tells runs apart: everything but how far and where they run. */
const identityOf = ({ recipe, settings, stepsAhead, trainer }: UpOptions) => {
  const { trainer: given } = trainer
  // Nor does a bound that the trainer itself advises to raise.
  const told = Struct.omit(given, ["device", "run", "savePath", "threads", "trainingSteps", "maxMismatch"])
  const [first, ...further] = settings
  return {
    environment: settings.map(({ word }) => word).join(" "),
    env: further.length === 0 ? first.given : settings.map((one) => one.given),
    trainer: told,
    lora: trainer.lora,
    loss: trainer.loss,
    stepsAhead,
    warmStart: Option.getOrNull(Option.map(recipe, ({ warmStart }) => warmStart))
  }
}

/** Models made from scratch are small: for them one thread of the CPU is fastest. */
const executor = ({ recipe, trainer: { trainer } }: UpOptions) =>
  Option.isSome(recipe) && trainer.device === "auto"
    ? OrtWorker.layer({ device: "cpu", threads: trainer.threads || 1 })
    : OrtWorker.layer({ device: trainer.device, threads: trainer.threads })

/** Runs until all steps are done. */
export const run = Effect.fn("Up.run")(
  function* (options: UpOptions) {
    const { recipe, settings, stepsAhead } = options
    const { trainingSteps } = options.trainer.trainer
    const { address } = yield* HttpServer.HttpServer
    const { kind, location } = yield* Database.Database
    const { device } = yield* Executor
    const url = HttpServer.formatAddress(address)
    const chosen = yield* RunFolder.choose({
      root: ".atropos/up",
      environment: settings.map(({ chosen }) => chosen.environment.environmentName).join("-"),
      identity: identityOf(options),
      steps: trainingSteps,
      fresh: options.fresh
    })
    yield* Console.log(
      `trajectory service at ${url} (${kind === "pglite" ? "embedded Postgres in" : "Postgres at"} ${location})`
    )
    yield* Console.log(`viewer at ${url}/ui, API documentation at ${url}/v1/docs, metrics at ${url}/metrics`)
    yield* Console.log(
      chosen.done > 0
        ? `resuming ${chosen.name} after ${chosen.done} of ${trainingSteps} steps (--fresh starts a new run)`
        : `run ${chosen.name}, checkpoints in ${chosen.folder}`
    )
    // Said last of all: what holds the checkpoint is closed before.
    yield* Effect.addFinalizer((exit) =>
      Exit.hasInterrupts(exit) ? Effect.ignore(RunArtifacts.tellStopped(chosen.folder, trainingSteps)) : Effect.void
    )
    const longest = Option.match(recipe, { onNone: () => 0, onSome: (given) => given.longest })
    const seqLen = Math.max(options.trainer.trainer.seqLen, longest)
    // Asked for by word only: a first try should go nowhere by itself.
    const useWandb = options.trainer.trainer.useWandb || settings.some(({ given }) => given["use_wandb"] === true)
    const place = { folder: chosen.folder, useWandb: { value: useWandb, isGiven: useWandb } }
    const asked = { ...options.trainer.trainer, run: chosen.name, savePath: chosen.folder, seqLen }
    const started = yield* Clock.currentTimeMillis
    const { initial, model } = yield* Option.match(recipe, {
      onNone: () =>
        Effect.map(pretrained({ ...options.trainer, trainer: asked }), (model) => ({ model, initial: undefined })),
      onSome: (given) => fromScratch(given, asked, chosen)
    })
    const { trainer: named } = yield* Train.fitted({ ...options.trainer, trainer: asked }, model, options.isSeqLenGiven)
    const trainer: TrainerSettings = {
      ...options.trainer,
      trainer: { ...named, ...(yield* Metrics.announced(options.metrics, place, named)) }
    }
    yield* Console.log(
      `${settings.map(({ word }) => word).join(" and ")}, batches of ${named.batchSize}, ${model.layout.size.toLocaleString("en-US")} parameters; Ctrl-C saves and stops`
    )
    const publish = yield* Publisher.make(model, trainer)
    const progress = yield* Progress.make({ unit: "steps", total: trainingSteps, done: chosen.done })
    const shown = ProgressFigures.make()
    const learner = LocalLearner.layerInProcess({
      model,
      ...(Option.isSome(recipe) && { graph: small }),
      ...(publish && { publish })
    })
    const environments = Environment.merge(
      ...settings.map((one) => Services.environment(one, { total_steps: trainingSteps }))
    ).pipe(
      Layer.provide(Services.beside(settings[0])),
      Layer.merge(ServedPolicy.layer(model, { host: options.host, port: options.policyPort })),
      Layer.merge(learner),
      Layer.provideMerge(PolicyLayers.layerInProcess(model, { device: device.kind }))
    )
    const workload = {
      batchSize: named.batchSize,
      steps: trainingSteps - chosen.done,
      seqLen: named.seqLen,
      maxTokenLength: Math.max(...settings.map(({ common }) => common.maxTokenLength))
    }
    const plan = Effect.fnUntraced(function* (measured: Pick<Trainer, "measure">, hasHeldOut: boolean) {
      yield* Console.log("measuring a step on this machine …")
      const speed = yield* Plan.measure(model, measured, workload)
      const memoryBytes = process.memoryUsage.rss()
      yield* Console.log(
        `\n${Summary.print(Plan.describe({ model, trainer: trainer.trainer, workload, speed, memoryBytes, hasHeldOut }))}\n`
      )
    })
    const outcome = yield* Loop.run({
      settings: trainer,
      initial,
      objective: yield* LossFile.ofSettings(trainer.loss),
      stepsAhead,
      ...(Option.isNone(recipe) && { onReady: plan }),
      earlier: {
        curve: yield* History.curve(options.metrics.folder ?? chosen.folder, chosen.done),
        before: chosen.done > 0 ? yield* History.before(chosen.folder) : Option.none()
      },
      onBefore: (solved) => History.saveBefore(chosen.folder, solved),
      onStep: (metrics) => {
        shown.add(metrics)
        return progress.update(metrics.step, shown.detail)
      }
    }).pipe(
      Effect.provide([
        Layer.provideMerge(
          Metrics.layer(options.metrics, place),
          TrajectoryClientInProcess.layer({ run: chosen.name })
        ),
        environments
      ])
    )
    return {
      ...outcome,
      run: chosen,
      seconds: ((yield* Clock.currentTimeMillis) - started) / 1000,
      trained: yield* RunArtifacts.write({ run: chosen, model, settings })
    } satisfies UpResult
  },
  Effect.scoped,
  (effect, options) =>
    Effect.andThen(
      Console.log("starting the service (the first time, its database takes some seconds)"),
      Effect.provide(effect, [service(options), executor(options), NodeHttpClient.layerUndici])
    ).pipe(Metrics.traced(options.metrics, "atropos-up"), Effect.mapError(Services.toFailure))
)
