/** Loads the configured model from a folder or the hub, with the part of it to train. */
import * as LocalPath from "@atropos/core/base/system/LocalPath"
import { nearest } from "@atropos/core/base/Nearest"
import { type DeviceKind, Executor } from "@atropos/trainer/exec/Executor"
import type { Model } from "@atropos/trainer/model/Model"
import { ModelError } from "@atropos/trainer/model/file/ModelError"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Effect, Option } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as BundledModel from "../config/BundledModel.ts"

/** Describes why quantized weights do not work on this device or with full training; undefined if they do. */
const problem = ({ quantize, trains }: TrainerSettings["trainer"], device: string): string | undefined => {
  if (quantize === "none") return undefined
  if (trains === "all") {
    return `--quantize ${quantize} needs frozen weights: remove it, or train an adapter (--trains adapter)`
  }
  return device === "cpu"
    ? undefined
    : `--quantize ${quantize} runs on the CPU only, but the device is ${device}: use --device cpu, or remove it`
}

/** `check` returns an objection based on the architecture alone. */
export const load = Effect.fn("Pretrained.load")(function* (
  { lora, trainer }: TrainerSettings,
  check: (config: Model["config"], device: DeviceKind) => string | undefined = () => undefined
) {
  const { device } = yield* Executor
  const message = problem(trainer, device.kind)
  if (message !== undefined) return yield* new UsageError({ message })
  const model = yield* PretrainedModel.load(BundledModel.located(trainer.model), {
    trains: trainer.trains === "all" ? "all" : lora,
    seed: trainer.seed,
    maxPositions: trainer.seqLen,
    quantize: trainer.quantize === "none" ? undefined : trainer.quantize,
    check: (config) => {
      const against = check(config, device.kind)
      return against === undefined
        ? Effect.void
        : Effect.fail(new ModelError({ reason: "settings", model: trainer.model, message: against }))
    }
  })
  return yield* BundledModel.named(model, trainer.model)
})

type Words = { readonly [word: string]: string }

const about: Words = { [BundledModel.word]: "the small language model that comes with Atropos" }

/** Fails early if a name is a path without a model, or is a misspelt short name. The hub is not queried. */
export const check = Effect.fn("Pretrained.check")(function* (model: string, more: Words = {}) {
  const wrong = (reason: string) => new UsageError({ message: `--model ${model}: ${reason}` })
  const local = yield* Effect.mapError(LocalPath.folder(BundledModel.located(model)), wrong)
  if (Option.isSome(local)) {
    yield* Effect.mapError(PretrainedModel.readConfigFile(local.value), ({ message }) => wrong(message))
    return
  }
  if (model.includes("/")) return
  const words = { ...about, ...more }
  if (Object.hasOwn(words, model)) return
  const near = nearest(model, Object.keys(words))
  if (near !== undefined) return yield* wrong(`folder not found; did you mean ${near}, ${words[near]}?`)
})
