/**
 * Points at which a trainer's process can be killed. Of the engine: gradient, update, publish and save (weights and
 * moments); of its files: checkpoint (it gets its name) and journal (of leases); of the service: claim, submit, ack and
 * inherited-ack (of a batch that its predecessor had).
 */
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Option } from "effect"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as KillPoint from "../../../core/test/base/KillPoint.ts"
import type { LearnerEngineShape } from "../../src/learn/LearnerEngine.ts"

export const engine =
  ({ around }: KillPoint.KillPoints) =>
  (shape: LearnerEngineShape): LearnerEngineShape => ({
    ...shape,
    load: (options) =>
      Effect.map(shape.load(options), (learner) => ({
        ...learner,
        forwardBackward: (batch, look) => around("gradient", learner.forwardBackward(batch, look)),
        optimizerStep: (rate) => around("update", learner.optimizerStep(rate)),
        publish: (version) => around("publish", learner.publish(version)),
        save: (folder, version) => around("save", learner.save(folder, version))
      }))
  })

const client =
  ({ around }: KillPoint.KillPoints) =>
  (shape: TrajectoryClient.TrajectoryClient): TrajectoryClient.TrajectoryClient => {
    const own = new Set<string>()
    const claiming = (options: Parameters<typeof shape.claim>[0]) =>
      Effect.tap(
        shape.claim(options),
        Option.match({ onNone: () => Effect.void, onSome: ({ id }) => Effect.sync(() => void own.add(id)) })
      )
    return {
      ...shape,
      claim: (options) => around("claim", claiming(options)),
      ack: (batch) => around(own.has(batch.id) ? "ack" : "inherited-ack", shape.ack(batch)),
      submit: (envId, groups) => around("submit", shape.submit(envId, groups))
    }
  }

/** A client with its points, over HTTP. */
export const layerClient = (points: KillPoint.KillPoints, options: Parameters<typeof TrajectoryClientHttp.layer>[0]) =>
  TrajectoryClient.layer(Effect.map(TrajectoryClient.all, client(points))).pipe(
    Layer.provide(TrajectoryClientHttp.layer(options))
  )

export const layerFiles = (points: KillPoint.KillPoints) =>
  KillPoint.layerRenames(points, [
    ["checkpoint", /\/step_\d+$/],
    ["journal", /\/leases\.json$/]
  ]).pipe(Layer.provide(NodeServices.layer))
