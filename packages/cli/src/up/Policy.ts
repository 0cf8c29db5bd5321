/** The model of `up` in its three roles: trained, sampled from, and served. */
import { ServerManager, Tokenizer } from "@atropos/core"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import * as Model from "@atropos/trainer/model/Model"
import * as DecodeGraph from "@atropos/trainer/policy/DecodeGraph"
import * as Engine from "@atropos/trainer/policy/Engine"
import * as PolicyBackend from "@atropos/trainer/policy/PolicyBackend"
import { Effect, Layer } from "effect"

export interface Options {
  readonly model: Model.Model
  /** Weights to begin with, and their version. */
  readonly parameters: Float32Array
  readonly policyVersion: number
  readonly device: DeviceKind
}

/** Name of the weights, whatever their version. */
export const policyName = "policy"

/** The engine, and core's manager of it as the only inference server. */
export const layer = ({
  device,
  model,
  parameters,
  policyVersion
}: Options): Layer.Layer<Engine.Engine | ServerManager.ServerManager | Tokenizer.Tokenizer, Engine.EngineFailed> =>
  Layer.unwrap(
    Effect.sync(() => {
      const decodable = DecodeGraph.make(Model.decodable(model))
      const initial = { policy: policyName, policyVersion, parameters }
      return PolicyBackend.layerServerManager({
        modelName: model.name,
        maxSequenceTokens: model.config.maxPositions,
        endTokenIds: model.config.eosTokenIds
      }).pipe(
        Layer.provideMerge(Engine.layer({ model: decodable, initial, device })),
        Layer.provideMerge(Layer.succeed(Tokenizer.Tokenizer, model.tokenizer))
      )
    })
  )
