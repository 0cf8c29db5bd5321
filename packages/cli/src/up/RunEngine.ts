/** Builds the engine of a run: local, with a model from scratch or a pretrained one, or a Tinker server. */
import * as Engine from "@atropos/trainer/engine/Engine"
import { Executor } from "@atropos/trainer/exec/Executor"
import * as KeptWeights from "@atropos/trainer/checkpoint/KeptWeights"
import * as LocalLearner from "@atropos/trainer/local/LocalLearner"
import * as Model from "@atropos/trainer/model/Model"
import type * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { LearnerEngine } from "@atropos/trainer/learn/LearnerEngine"
import * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import * as WarmStart from "@atropos/trainer/learn/WarmStart"
import { type ServerManager, Tokenizer } from "@atropos/core"
import type { HttpClient } from "effect/http"
import { Console, Effect, FileSystem, Layer, Option, Path } from "effect"
import * as ServedPolicy from "../train/ServedPolicy.ts"
import * as Progress from "../base/Progress.ts"
import * as Pretrained from "../train/Pretrained.ts"
import * as Publisher from "../train/Publisher.ts"
import * as TorchPlan from "../train/TorchPlan.ts"
import * as TorchRun from "../train/TorchRun.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"
import * as MemoryCheck from "../train/MemoryCheck.ts"
import type * as RunFolder from "../train/RunFolder.ts"
import * as PromptTally from "./PromptTally.ts"
import * as OwnRecipe from "./OwnRecipe.ts"
import type * as Recipe from "./Recipe.ts"
import type * as Sampling from "./Sampling.ts"

/** A small model needs no recomputation. */
const small = { remat: false }

/** A model from scratch, warm-started on the form of its task now or when its run began. */
const fromScratch = Effect.fn("RunEngine.fromScratch")(function* (
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

/** The layers that environments and trainer need. */
export type Parts = Layer.Layer<
  LearnerEngine | ServerManager.ServerManager | Tokenizer.Tokenizer,
  unknown,
  Executor | FileSystem.FileSystem | Path.Path | HttpClient.HttpClient
>

/** Address of the run's policy server. */
export interface Address {
  readonly host: string
  readonly port: number
}

type Learner = Layer.Layer<LearnerEngine, never, Engine.Engine | Executor | FileSystem.FileSystem | Path.Path>

/** PyTorch trains, and the local engine samples with the adapters that it publishes. */
const torchLearner = Effect.fnUntraced(function* (
  model: Model.Model,
  settings: TrainerSettings,
  published: Effect.Success<ReturnType<typeof Publisher.make>>,
  onMade: (engine: TorchEngine.TorchEngine, outline: PretrainedModel.Outline) => void
) {
  const outline = yield* TorchRun.outline(settings)
  const torchOptions = yield* TorchRun.options(settings, outline)
  const readAdapter = yield* PolicyLayers.readAdapter(model)
  const fs = yield* FileSystem.FileSystem
  return Layer.effect(
    LearnerEngine,
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { device } = yield* Executor
      const made = yield* TorchEngine.make({
        ...torchOptions,
        reserved:
          device.kind === "cpu" ? MemoryCheck.needs(model.config, settings, "cpu").all : MemoryCheck.processBytes,
        publish: (weights) =>
          Effect.gen(function* () {
            const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-adapter-" })
            yield* weights.write(folder)
            yield* engine.load(model.name, weights.version, yield* readAdapter(folder))
            if (published !== undefined) yield* published.publish(weights)
          }).pipe(Effect.scoped)
      })
      onMade(made, outline)
      return made
    })
  )
})

/** The local engine; its layers are built from the final settings. `--engine torch`: it samples only. */
export const local = Effect.fn("RunEngine.local")(function* (
  settings: TrainerSettings,
  recipe: Option.Option<Recipe.Recipe>,
  run: RunFolder.RunFolder,
  sampling: Sampling.Sampling,
  address: Address
) {
  const { device } = yield* Executor
  const { initial, model } = yield* Option.match(recipe, {
    onNone: () =>
      Effect.map(
        Pretrained.load(settings, (config, device) => MemoryCheck.problem(config, settings, device)),
        (model) => ({ model, initial: undefined })
      ),
    onSome: (scratch) => fromScratch(scratch, settings.trainer, run)
  })
  const prompts = PromptTally.make()
  let torch: { readonly engine: TorchEngine.TorchEngine; readonly outline: PretrainedModel.Outline } | undefined
  let sampler: Engine.Shape | undefined
  return {
    model,
    isAdapter: model.adapter !== undefined,
    isHere: true,
    /** Inputs of a forecast, available once the layer is built. */
    forecast: () => (sampler === undefined ? undefined : { model, sampler }),
    lost: Effect.never,
    initial,
    prompts,
    elsewhere: (step: Parameters<typeof TorchPlan.computing>[2]) =>
      torch === undefined
        ? Effect.undefined
        : Effect.map(torch.engine.usage, (usage) => TorchPlan.computing(usage, torch!.outline.config, step)),
    trained: `${model.layout.size.toLocaleString("en-US")} parameters`,
    layer: (final: TrainerSettings) =>
      Effect.gen(function* () {
        const published = yield* Publisher.make(model, final)
        const learner: Learner = TorchRun.isAsked(final)
          ? yield* torchLearner(model, final, published, (engine, outline) => void (torch = { engine, outline }))
          : LocalLearner.layerInProcess({ model, ...(Option.isSome(recipe) && { graph: small }), ...published })
        const sampled = Layer.effectDiscard(Effect.map(Engine.Engine, (engine) => void (sampler = engine)))
        const parts: Parts = Layer.mergeAll(learner, sampled, ServedPolicy.layer(model, address)).pipe(
          Layer.provideMerge(
            PolicyLayers.layerManager(model).pipe(
              Layer.provideMerge(PromptTally.layer(prompts)),
              Layer.provideMerge(
                PolicyLayers.layerEngine(model, {
                  device: device.kind,
                  // Its weights are read while the training graph is built.
                  isAwaited: false,
                  recordsExperts: final.trainer.routerReplay,
                  settings: {
                    ...MemoryCheck.caches(MemoryCheck.memoryOf(final.trainer, device.kind)),
                    ...sampling,
                    maxRows: MemoryCheck.maxRows
                  }
                })
              )
            )
          )
        )
        return parts
      })
  }
})

/** A server: the model's weights are never on this machine. */
export const remote = Effect.fn("RunEngine.remote")(function* (settings: TrainerSettings, listening: Address) {
  const { address, engine, model } = yield* RemoteEngine.make(settings)
  yield* Console.log(`engine: ${address.url} (Tinker)`)
  const tokenizer = Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
  return {
    model,
    isAdapter: true,
    isHere: false,
    forecast: () => undefined,
    lost: Effect.never,
    initial: undefined,
    prompts: PromptTally.make(),
    elsewhere: () => Effect.undefined,
    trained: `an adapter of rank ${settings.lora.r} on ${model.name}`,
    layer: (): Effect.Effect<Parts> =>
      Effect.succeed(
        ServedPolicy.layer(model, listening).pipe(
          Layer.provideMerge(PolicyLayers.layerManager(model)),
          Layer.provideMerge(Layer.merge(engine, tokenizer))
        )
      )
  }
})
