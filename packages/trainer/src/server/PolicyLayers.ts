/**
 * Layers that serve a model: the engine on its weights, with the policy server or the in-process back end on top.
 *
 * The model's layout determines what can be swapped at runtime: adapters of one rank, or all weights. The initial
 * weights are version 0 under the model's name.
 */
import { type ServerManager, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer, Path } from "effect"
import type { DeviceKind } from "../exec/Executor.ts"
import * as Pieces from "../base/Pieces.ts"
import * as Model from "../model/Model.ts"
import * as Peft from "../model/Peft.ts"
import type { ReadAdapter } from "./AdapterApi.ts"
import * as DecodeGraph from "../engine/DecodeGraph.ts"
import * as Engine from "../engine/Engine.ts"
import type { EngineSettings } from "../engine/EngineSettings.ts"
import * as StartingEngine from "../engine/StartingEngine.ts"
import * as PolicyBackend from "./PolicyBackend.ts"
import type { Options as ServedPolicyOptions } from "./ServedPolicy.ts"

export interface Options {
  readonly device: DeviceKind
  readonly settings?: Partial<EngineSettings>
  /** Record the experts of every token, for `router_replay`. Default false. */
  readonly recordsExperts?: boolean
  /**
   * Wait for the engine before the layer is ready, instead of starting it in the background (`StartingEngine`). Default
   * true.
   */
  readonly isAwaited?: boolean
  readonly parameters?: Float32Array
}

export const layerEngine = (
  model: Model.Model,
  { device, isAwaited = true, parameters = model.initial, recordsExperts = false, settings = {} }: Options
): Layer.Layer<Engine.Engine | Tokenizer.Tokenizer, Engine.EngineFailed> =>
  Layer.mergeAll(
    Layer.unwrap(
      Effect.map(
        Pieces.yielding(() => DecodeGraph.makePieces(Model.decodable(model), { recordsExperts })),
        (decodable) =>
          (isAwaited ? Engine.layer : StartingEngine.layer)({
            model: decodable,
            initial: { policy: model.name, policyVersion: 0, parameters },
            device,
            tokenizer: model.tokenizer,
            settings
          })
      )
    ),
    Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
  )

/** Options of a model for the server and the in-process back end. */
export const served = (
  { config, name, tokenizer }: Pick<Model.Model, "config" | "name" | "tokenizer">,
  settings: Partial<EngineSettings> = {}
): Required<Omit<ServedPolicyOptions, "toolCallFormat">> => ({
  modelName: name,
  maxSequenceTokens: Math.min(settings.maxSequenceTokens || config.maxPositions, config.maxPositions),
  endTokenIds: [
    ...new Set([...config.eosTokenIds, ...(tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId])])
  ]
})

/**
 * Engine, tokenizer, and core's manager with the engine as its only inference server: what environments in this process
 * need.
 */
export const layerInProcess = (
  model: Model.Model,
  options: Options
): Layer.Layer<Engine.Engine | ServerManager.ServerManager | Tokenizer.Tokenizer, Engine.EngineFailed> =>
  Layer.suspend(() => PolicyBackend.layerServerManager(served(model, options.settings))).pipe(
    Layer.provideMerge(layerEngine(model, options))
  )

/** Core's manager with the engine in the context as its only inference server. */
export const layerManager = (
  model: Pick<Model.Model, "config" | "name" | "tokenizer">
): Layer.Layer<ServerManager.ServerManager, never, Engine.Engine | Tokenizer.Tokenizer> =>
  Layer.suspend(() => PolicyBackend.layerServerManager(served(model)))

/** Reads PEFT folders that fit the model; fails for a model without an adapter. */
export const readAdapter = (model: Model.Model): Effect.Effect<ReadAdapter, never, FileSystem.FileSystem | Path.Path> =>
  Effect.map(Effect.context<FileSystem.FileSystem | Path.Path>(), (files) => {
    const { adapter, layout } = model
    return (folder) =>
      adapter === undefined
        ? Effect.fail({ message: `${model.name} is served without an adapter, so it cannot be replaced by one` })
        : Effect.provideContext(Peft.read(folder, { adapter, layout }), files)
  })
