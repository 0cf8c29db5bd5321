/**
 * Builds the engine of a run that PyTorch trains and a vLLM samples, which is started here: models of any architecture
 * that both have.
 */
import { ServerManager, Tokenizer } from "@atropos/core"
import { LearnerEngine } from "@atropos/trainer/learn/LearnerEngine"
import * as Preset from "@atropos/trainer/loss/Preset"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as TorchCommand from "@atropos/trainer/torch/TorchCommand"
import * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import * as TorchLearner from "@atropos/trainer/torch/TorchLearner"
import * as TorchReport from "@atropos/trainer/torch/TorchReport"
import { Console, Deferred, Effect, Layer, Option, Result } from "effect"
import { type CommandFailed, UsageError } from "../base/Failure.ts"
import * as Publisher from "../train/Publisher.ts"
import * as TorchRun from "../train/TorchRun.ts"
import * as PromptTally from "./PromptTally.ts"
import type { Parts } from "./RunEngine.ts"
import * as VllmServer from "./VllmServer.ts"

export interface Vllm {
  /** Its executable, more of its arguments, and its GPUs. */
  readonly program: string
  readonly more: ReadonlyArray<string>
  readonly gpus: string | undefined
}

/** The part of the GPU that vLLM takes if the trainer computes on it too; undefined on other devices. */
const shareOf = Effect.fnUntraced(function* (
  { loss, ...settings }: TrainerSettings,
  options: TorchEngine.Options,
  { gpus }: Vllm
) {
  const { trainer } = settings
  const found = yield* TorchReport.read(options.python)
  const all = Option.match(found, { onNone: () => [], onSome: (report) => report.gpus })
  const first = trainer.gpus === null ? 0 : TorchCommand.gpusOf(trainer.gpus)[0]!
  const gpu = all[first]
  const isShared = gpus === undefined || TorchCommand.gpusOf(gpus).includes(first)
  if (gpu === undefined || !isShared || options.sizes === undefined) return undefined
  const about = { device: gpu.name, ranks: options.ranks }
  const objective = Result.getOrThrow(Preset.resolve(loss))
  const remat = trainer.remat === "elements" || trainer.remat === "parts" ? trainer.remat : false
  const workload = TorchLearner.workloadOf(options, options.sizes, about, { objective, remat })
  const positions = Math.max(trainer.seqLen, trainer.tokenBudget ?? TorchLearner.defaultBudget.gpu)
  const selected = VllmServer.shareOf(options.sizes, workload, { memory: gpu.bytes, positions })
  return "share" in selected
    ? selected.share
    : yield* new UsageError({ message: `--sampler vllm: ${selected.problem}` })
})

export const make = Effect.fn("VllmEngine.make")(function* (settings: TrainerSettings, vllm: Vllm) {
  const model = yield* TorchRun.outline(settings)
  const lost = yield* Deferred.make<never, CommandFailed>()
  return {
    model,
    isAdapter: settings.trainer.trains !== "all",
    isHere: true,
    forecast: () => undefined,
    lost: Deferred.await(lost),
    initial: undefined,
    prompts: PromptTally.make(),
    elsewhere: () => Effect.undefined,
    trained:
      settings.trainer.trains === "all" ? "all weights" : `an adapter of rank ${settings.lora.r} on ${model.name}`,
    layer: (final: TrainerSettings) =>
      Effect.gen(function* () {
        const options = yield* TorchRun.options(final, model)
        const share = yield* shareOf(final, options, vllm)
        const started = { ...vllm, share, folder: model.folder, name: model.name, settings: final }
        const server = yield* VllmServer.start(started)
        yield* Effect.forkScoped(Deferred.complete(lost, server.lost))
        yield* Console.log(
          `sampler: vLLM at ${server.url}/v1${share === undefined ? "" : `, ${Math.round(100 * share)}% of the GPU`}`
        )
        const weightSync = [...final.trainer.weightSync, `vllm+${server.url}`]
        const published = yield* Publisher.make(model, { ...final, trainer: { ...final.trainer, weightSync } })
        const learner = Layer.effect(
          LearnerEngine,
          Effect.flatMap(ServerManager.ServerManager, ({ refresh }) =>
            TorchEngine.make({
              ...options,
              ...published,
              // The next step's answers are not sampled with weights that an earlier look has found.
              publish: (weights) => Effect.andThen(published?.publish(weights) ?? Effect.void, refresh(weights.version))
            })
          )
        )
        const manager = ServerManager.layer({
          servers: [
            {
              baseUrl: `${server.url}/v1`,
              modelName: model.name,
              logprobsMode: "processed",
              // A prefix of the names that `Publisher` gives; all weights have a label instead.
              ...(final.trainer.trains === "adapter" && { adapterPrefix: "policy-" })
            }
          ]
        })
        const parts: Parts = learner.pipe(
          Layer.provideMerge(manager),
          Layer.provideMerge(Layer.succeed(Tokenizer.Tokenizer, model.tokenizer))
        )
        return parts
      })
  }
})
