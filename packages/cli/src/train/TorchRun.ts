/**
 * Trains with PyTorch in a child process: checks the settings that it supports, and builds its engine. Samplers get
 * adapters and models as folders.
 */
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as Lora from "@atropos/trainer/model/Lora"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as Tensors from "@atropos/trainer/model/Tensors"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import type * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import * as TorchInstall from "@atropos/trainer/torch/TorchInstall"
import * as TorchCommand from "@atropos/trainer/torch/TorchCommand"
import { Console, Effect } from "effect"
import { availableParallelism } from "node:os"
import * as CommandLine from "../base/CommandLine.ts"
import { UsageError } from "../base/Failure.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as RemoteEngine from "./RemoteEngine.ts"

export const isAsked = ({ trainer }: TrainerSettings): boolean => trainer.engine === RemoteEngine.torch

/** Describes a setting that this engine does not support. */
const problem = ({ lora, trainer }: TrainerSettings): string | undefined => {
  const unsupported = [
    ...(trainer.quantize !== "none" && trainer.trains === "all" ? [`--quantize ${trainer.quantize} --trains all`] : []),
    ...(trainer.quantize !== "none" && trainer.parallel === "fsdp"
      ? [`--quantize ${trainer.quantize} --parallel fsdp`]
      : []),
    ...(trainer.memory === null ? [] : ["--memory (use --token_budget)"]),
    ...(trainer.routerReplay ? ["--router_replay"] : []),
    ...(lora.modulesToSave.length === 0 ? [] : ["--lora.modules_to_save"]),
    ...lora.targetModules
      .filter((name) => ["embed_tokens", "lm_head"].includes(name))
      .map((name) => `an adapter on ${name}`)
  ]
  return unsupported.length === 0
    ? undefined
    : `--engine torch does not support ${unsupported.join(", ")}: remove it, or use --engine local`
}

/** Describes a rendezvous that is missing or wrong. */
const rendezvousProblem = ({ trainer: { nodes, rendezvous } }: TrainerSettings): string | undefined => {
  if (nodes === 1) return rendezvous === null ? undefined : "--rendezvous needs --nodes 2 or more"
  return rendezvous !== null && TorchCommand.addressOf(rendezvous) !== undefined
    ? undefined
    : `--nodes ${nodes} needs --rendezvous host:port, an address of this machine that the others reach`
}

/** Fails if a setting would have no effect, or is not supported. */
export const check = (settings: TrainerSettings): Effect.Effect<void, UsageError> => {
  const message = problem(settings) ?? rendezvousProblem(settings)
  return message === undefined ? Effect.void : Effect.fail(new UsageError({ message }))
}

/** The default list of layers, which is that of most architectures, means all linear layers of any. */
const targetsOf = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Tensors.projectionNames.every((name) => names.includes(name)) ? [Lora.allLinear] : names

/** Settings of the child process, and of what it trains. */
export const options = Effect.fn("TorchRun.options")(function* (
  settings: TrainerSettings,
  outline: PretrainedModel.Outline
) {
  const python = yield* TorchInstall.interpreter(settings.trainer.python).pipe(
    Effect.mapError(({ message }) => new UsageError({ message: `--engine torch: ${message}` }))
  )
  const { nodes } = settings.trainer
  for (let node = 1; node < nodes; node++) {
    yield* Console.log(`on machine ${node}, where --model is at the same path, run: ${joining(settings, node)}`)
  }
  return optionsOf(settings, outline, python)
})

/** The command for another machine. */
export const joining = ({ trainer: { gpus, nodes, rendezvous } }: TrainerSettings, node: number): string =>
  CommandLine.of(
    `torch join ${rendezvous} --node ${node}${nodes === 2 ? "" : ` --nodes ${nodes}`}${gpus === null ? "" : ` --gpus ${gpus}`}`
  )

export const optionsOf = (
  { lora, trainer }: TrainerSettings,
  { config, folder, name, tokenizer }: PretrainedModel.Outline,
  python: string
): TorchEngine.Options => {
  const gpus = trainer.gpus === null ? undefined : TorchCommand.gpusOf(trainer.gpus)
  const ranks = gpus?.length ?? 1
  return {
    python,
    ranks,
    ...(gpus && { gpus: gpus.join(",") }),
    ...(trainer.nodes > 1 && { machines: { count: trainer.nodes, rendezvous: trainer.rendezvous! } }),
    threads: trainer.threads || Math.max(1, Math.floor(availableParallelism() / ranks)),
    name,
    model: folder,
    trains: trainer.trains === "all" ? "all" : { ...lora, targetModules: targetsOf(lora.targetModules) },
    seed: trainer.seed,
    dtype: trainer.dtype,
    quantize: trainer.quantize,
    parallel: trainer.parallel,
    tokenizer: TokenizerIdentity.of(tokenizer),
    vocabSize: config.vocabSize,
    maxPositions: config.maxPositions,
    ...(config.parameters !== undefined && { sizes: { ...config, parameters: config.parameters } })
  }
}

/** The model as far as it is read here. */
export const outline = Effect.fn("TorchRun.outline")(function* ({ trainer }: TrainerSettings) {
  const outline = yield* PretrainedModel.outline(BundledModel.located(trainer.model), trainer.seqLen)
  return yield* BundledModel.named(outline, trainer.model)
})
