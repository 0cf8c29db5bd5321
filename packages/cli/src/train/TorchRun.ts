/**
 * Trains with PyTorch in a child process: checks the settings that it supports, and builds its engine. Samplers get
 * adapters and models as folders.
 */
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as Lora from "@atropos/trainer/model/Lora"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as Tensors from "@atropos/trainer/model/Tensors"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import { Effect } from "effect"
import { availableParallelism } from "node:os"
import { UsageError } from "../base/Failure.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as RemoteEngine from "./RemoteEngine.ts"

export const isAsked = ({ trainer }: TrainerSettings): boolean => trainer.engine === RemoteEngine.torch

/** Describes a setting that this engine does not support. */
const problem = ({ lora, trainer }: TrainerSettings): string | undefined => {
  const unsupported = [
    ...(trainer.quantize === "none" ? [] : [`--quantize ${trainer.quantize}`]),
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

/** Fails if a setting would have no effect, or is not supported. */
export const check = (settings: TrainerSettings): Effect.Effect<void, UsageError> => {
  const message = problem(settings)
  return message === undefined ? Effect.void : Effect.fail(new UsageError({ message }))
}

/** The indices of a list such as `0-3,6`. */
const gpusOf = (list: string): ReadonlyArray<number> =>
  list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number)
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })

/** The default list of layers, which is that of most architectures, means all linear layers of any. */
const targetsOf = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Tensors.projectionNames.every((name) => names.includes(name)) ? [Lora.allLinear] : names

/** Settings of the child process, and of what it trains. */
export const optionsOf = (
  { lora, trainer }: TrainerSettings,
  { config, folder, name, tokenizer }: PretrainedModel.Outline
): TorchEngine.Options => {
  const gpus = trainer.gpus === null ? undefined : gpusOf(trainer.gpus)
  const ranks = gpus?.length ?? 1
  return {
    python: trainer.python,
    ranks,
    ...(gpus && { gpus: gpus.join(",") }),
    threads: trainer.threads || Math.max(1, Math.floor(availableParallelism() / ranks)),
    name,
    model: folder,
    trains: trainer.trains === "all" ? "all" : { ...lora, targetModules: targetsOf(lora.targetModules) },
    seed: trainer.seed,
    dtype: trainer.dtype,
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
