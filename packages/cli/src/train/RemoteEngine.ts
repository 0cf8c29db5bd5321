/**
 * Trains on a Tinker server: checks the settings it supports, and builds its layers. Tokenizer and chat template are
 * local, from the folder or hub id of `--model`; weights stay on the server.
 */
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as Address from "@atropos/trainer/tinker/client/Address"
import * as TinkerEngine from "@atropos/trainer/tinker/TinkerEngine"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Effect } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as BundledModel from "../config/BundledModel.ts"

export const local = "local"

export const torch = "torch"

export const isRemote = ({ trainer }: TrainerSettings): boolean => ![local, torch].includes(trainer.engine)

/** Describes a setting that a server does not support. */
const problem = ({ lora, trainer }: TrainerSettings): string | undefined => {
  const { engine } = trainer
  if (!Address.isAddress(engine)) {
    return `--engine ${engine} is not a valid engine: expected ${local}, ${torch}, tinker+http://host:port or tinker+https://host`
  }
  if (trainer.trains === "all") return `--engine ${engine}: a Tinker server trains adapters only: --trains adapter`
  if (trainer.weightSync.length > 0) {
    return `--engine ${engine}: new weights stay on the server, so --weight_sync ${trainer.weightSync.join(", ")} has no effect: remove it`
  }
  if (lora.dora || lora.modulesToSave.length > 0) {
    const flag = lora.dora ? "--lora.dora" : "--lora.modules_to_save"
    return `--engine ${engine}: a Tinker server trains plain LoRA on layers of blocks: remove ${flag}`
  }
  if (trainer.quantize !== "none") {
    return `--engine ${engine}: the server chooses the precision of its weights: remove --quantize ${trainer.quantize}`
  }
  if (trainer.remat !== "auto" || trainer.memory !== null) {
    const flag = trainer.memory === null ? "--remat" : "--memory"
    return `--engine ${engine}: the server manages its own memory: remove ${flag}`
  }
  return lora.rslora
    ? `--engine ${engine}: a Tinker server scales its adapters itself: remove --lora.rslora`
    : undefined
}

/** Fails if a setting would have no effect. */
export const check = (settings: TrainerSettings): Effect.Effect<void, UsageError> => {
  const message = problem(settings)
  return message === undefined ? Effect.void : Effect.fail(new UsageError({ message }))
}

/** The model as described locally, and the engine that trains and samples. */
export const make = Effect.fn("RemoteEngine.make")(function* ({ lora, trainer }: TrainerSettings) {
  const address = yield* Address.read(trainer.engine)
  const described = yield* PretrainedModel.describe(BundledModel.located(trainer.model), trainer.seqLen)
  const model = yield* BundledModel.named(described, trainer.model)
  const { maxPositions, vocabSize } = model.config
  const engine = TinkerEngine.layer({
    address,
    baseModel: trainer.model,
    tokenizer: TokenizerIdentity.of(model.tokenizer),
    vocabSize,
    maxPositions,
    rank: lora.r,
    seed: trainer.seed
  })
  return { address, engine, model }
})
