/**
 * Runs the trainer alone against a trajectory service: consumes batches, produces an adapter (or a model), and sends
 * new weights to the samplers.
 *
 * Resumes from the newest checkpoint in `save_path`. When interrupted it saves one and returns the batches it holds.
 */
import type * as Health from "@atropos/core/health/Health"
import { type MetricsSettings, Tokenizer, TrajectoryClientHttp } from "@atropos/core"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import { Executor } from "@atropos/trainer/exec/Executor"
import { LearnerEngine } from "@atropos/trainer/learn/LearnerEngine"
import * as LocalLearner from "@atropos/trainer/local/LocalLearner"
import * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as ServiceTraining from "@atropos/trainer/run/ServiceTraining"
import * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import * as Trainer from "@atropos/trainer/run/Trainer"
import { suitedLearningRate, type TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Console, Context, Effect, Exit, Layer, Option, Path, Stream } from "effect"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as LossFile from "../config/LossFile.ts"
import * as Metrics from "../config/Metrics.ts"
import * as ProgressDisplay from "./ProgressDisplay.ts"
import { tellStopped } from "./RunArtifacts.ts"
import * as Pretrained from "./Pretrained.ts"
import * as LongStep from "./LongStep.ts"
import * as OtherTrainer from "./OtherTrainer.ts"
import * as Publisher from "./Publisher.ts"
import * as RemoteEngine from "./RemoteEngine.ts"
import * as RunActivity from "./RunActivity.ts"
import * as MemoryCheck from "./MemoryCheck.ts"
import * as StepSummary from "./StepSummary.ts"
import * as ServedPolicy from "./ServedPolicy.ts"
import * as TorchPlan from "./TorchPlan.ts"
import * as TorchRun from "./TorchRun.ts"
import * as TrainPlan from "./TrainPlan.ts"
import * as Watch from "./Watch.ts"

export interface Trained {
  /** For the closing summary. */
  readonly lines: ReadonlyArray<readonly [string, string]>
  readonly folder: string
  readonly cards: ReadonlyArray<Health.Card>
}

/**
 * Adapts settings to a model: a learning rate for its width if none was set, and sequences no longer than its positions
 * unless set explicitly; a reduced `seq_len` is reported.
 */
export const fitted = Effect.fnUntraced(function* (
  input: TrainerSettings,
  {
    config: { hiddenSize, maxPositions },
    name
  }: {
    readonly name: string
    readonly config: Pick<PretrainedModel.Outline["config"], "hiddenSize" | "maxPositions">
  },
  isSeqLenGiven: boolean
) {
  const lr = input.trainer.lr ?? suitedLearningRate(input.trainer, hiddenSize)
  const settings = { ...input, trainer: { ...input.trainer, lr } }
  if (isSeqLenGiven || settings.trainer.seqLen <= maxPositions) return settings
  yield* Console.log(`seq_len reduced to ${maxPositions}, the maximum of ${name}`)
  return { ...settings, trainer: { ...settings.trainer, seqLen: maxPositions } }
})

const onThisMachine = Effect.fnUntraced(function* (input: TrainerSettings) {
  const { device } = yield* Executor
  const model = yield* Pretrained.load(input, (config, device) =>
    MemoryCheck.problem(config, input, device, MemoryCheck.memoryOf(input.trainer, device), false)
  )
  return {
    model,
    /** Prints the plan of the remaining steps; the result must be called with every batch. */
    plan: (trainer: Trainer.Trainer, settings: TrainerSettings, steps: number) =>
      TrainPlan.make({ trainer, settings, steps, describe: TrainPlan.local({ model, settings, device: device.kind }) }),
    engine: (settings: TrainerSettings) =>
      Effect.flatMap(Publisher.make(model, settings), (published) =>
        Layer.build(LocalLearner.layer({ model: Model.trainable(model), ...published }))
      )
  }
})

/** PyTorch trains; samplers get new weights as folders. */
const onTorch = Effect.fnUntraced(function* (input: TrainerSettings) {
  const model = yield* TorchRun.outline(input)
  let made: TorchEngine.TorchEngine | undefined
  return {
    model,
    plan: (trainer: Trainer.Trainer, settings: TrainerSettings, steps: number) =>
      made === undefined
        ? Effect.undefined
        : TrainPlan.make({ trainer, settings, steps, describe: TorchPlan.describe(made.usage, model, settings) }),
    engine: (settings: TrainerSettings) =>
      Effect.gen(function* () {
        const published = yield* Publisher.make(model, settings)
        made = yield* TorchEngine.make({ ...(yield* TorchRun.options(settings, model)), ...published })
        return Context.make(LearnerEngine, made)
      })
  }
})

/** A server has no address for environments: they sample from this process, which forwards to the server. */
const elsewhere = Effect.fnUntraced(function* (settings: TrainerSettings) {
  const { address, engine, model } = yield* RemoteEngine.make(settings)
  yield* Console.log(`engine: ${address.url} (Tinker), model ${model.name}, adapter of rank ${settings.lora.r}`)
  const tokenizer = Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
  const served = ServedPolicy.layer(model, { host: "127.0.0.1", port: 9004 }).pipe(
    Layer.provideMerge(Layer.merge(engine, tokenizer))
  )
  return { model, engine: () => Layer.build(served), plan: undefined }
})

export const run = Effect.fn("Train.run")(
  function* (
    input: TrainerSettings,
    metrics: MetricsSettings.MetricsSettings,
    /** Otherwise `seq_len` is limited to the model's positions. */
    isSeqLenGiven: boolean
  ) {
    const target = {
      folder: input.trainer.savePath,
      useWandb: { value: input.trainer.useWandb, isGiven: input.trainer.useWandb }
    }
    const announced = yield* Metrics.announcement(metrics, target, input.trainer)
    const announcedSettings = { ...input, trainer: { ...input.trainer, ...announced } }
    const { trainer } = announcedSettings
    const { device } = yield* Executor
    const { resolve } = yield* Path.Path
    // Printed last, after everything that holds the checkpoint is closed.
    yield* Effect.addFinalizer((exit) =>
      Exit.hasInterrupts(exit)
        ? Effect.ignore(tellStopped(resolve(trainer.savePath), trainer.trainingSteps))
        : Effect.void
    )
    const objective = yield* LossFile.ofSettings(input.loss)
    const isRemote = RemoteEngine.isRemote(announcedSettings)
    // With a remote engine the server's device counts.
    const isTorch = TorchRun.isAsked(announcedSettings)
    if (!isRemote && !isTorch) yield* Console.log(`device: ${device.kind}, ${device.detail}`)
    const { engine, model, plan } = yield* isRemote
      ? elsewhere(announcedSettings)
      : isTorch
        ? onTorch(announcedSettings)
        : onThisMachine(announcedSettings)
    const settings = yield* fitted(announcedSettings, model, isSeqLenGiven)
    yield* Console.log(
      `service: ${trainer.atroposUrl}, run ${trainer.run}; checkpoints in ${resolve(trainer.savePath)}`
    )
    // Lives as long as the run, including what the engine holds.
    const made = yield* Effect.provideContext(
      Trainer.make({ settings, ...(objective && { objective }) }),
      yield* engine(settings)
    )
    const done = yield* made.step
    if (done > 0) yield* Console.log(`resuming after step ${done} of ${trainer.trainingSteps}`)
    const left = trainer.trainingSteps - done
    const onBatch = plan === undefined || left <= 0 ? undefined : yield* plan(made, settings, left)
    const watch = yield* Watch.make(trainer)
    const board = yield* ProgressDisplay.make({ total: trainer.trainingSteps, done }, watch)
    const token = yield* Config.option(Config.Redacted("ATROPOS_TOKEN"))
    const client = TrajectoryClientHttp.layer({
      url: trainer.atroposUrl,
      run: trainer.run,
      ...(Option.isSome(token) && { token: token.value })
    })
    yield* watch.follow(yield* RunActivity.ofService({ url: trainer.atroposUrl, run: trainer.run, token }))
    yield* OtherTrainer.warn({ url: trainer.atroposUrl, run: trainer.run, token, folder: trainer.savePath })
    const summary = StepSummary.make()
    yield* ServiceTraining.steps(made, {
      settings,
      owner: "atropos train",
      ...(onBatch && { onBatch })
    }).pipe(
      LongStep.reported({ done, total: trainer.trainingSteps }),
      Stream.tap(board.step),
      Stream.tap(() => watch.step),
      Stream.runForEach((metrics) => Effect.sync(() => summary.add(metrics))),
      watch.ending,
      Effect.provide(Layer.provideMerge(watch.over(Metrics.layer(metrics, target)), client))
    )
    return { lines: summary.lines(), folder: resolve(trainer.savePath), cards: watch.cards() } satisfies Trained
  },
  Effect.scoped,
  (effect, { trainer }, metrics) =>
    Effect.provide(effect, [OrtWorker.layer(trainer), NodeHttpClient.layerUndici]).pipe(
      Metrics.traced(metrics, "atropos-train"),
      Heartbeat.whileStopping
    )
)
