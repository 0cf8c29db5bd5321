/** The engine of a Tinker server in this process and the local one, on the same tiny model and batch. */
import { assert } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Result, type Scope } from "effect"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import type { Learner, LearnerEngineShape, LoadOptions, OptimizerSettings } from "../../src/learn/LearnerEngine.ts"
import type { WeightedBatch } from "../../src/learn/WeightedBatch.ts"
import * as Objective from "../../src/loss/Objective.ts"
import * as HostObjective from "../../src/learn/HostObjective.ts"
import { presetNames } from "../../src/loss/LossSettings.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as TinkerEngine from "../../src/tinker/TinkerEngine.ts"
import { base, characters } from "./server/TestTinkerServer.ts"

export const rank = 4
export const seed = 5
export const lora = { r: rank, alpha: 32, targetModules: ["all-linear"], rslora: false }

export const whole = TinyModel.make({
  characters,
  seed: 3,
  hiddenSize: 32,
  layers: 1,
  maxPositions: 48,
  embeddingDeviation: 0.25
})

/** What the server makes of its base model for such an adapter. */
export const adapted = TinyModel.withAdapter(whole, whole.initial, lora, seed)

export const shape = { vocabSize: base.config.vocabSize, maxLength: 40, shortest: 8, count: 6 }

export const optimizer: OptimizerSettings = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxNorm: 1 }

const all: ReadonlyArray<Objective.Objective> = [
  ...presetNames.map((preset) => Result.getOrThrow(Preset.resolve({ preset }))),
  Result.getOrThrow(Preset.resolve({ preset: "grpo", klCoef: 0.1 })),
  Objective.make({
    name: "own",
    tokenLoss: (graph, { advantages, logprobs }) => graph.neg(graph.mul(advantages, graph.mul(logprobs, logprobs)))
  })
]

/** Those that logprobs of the sampled tokens suffice for; `withEntropies`: logprobs and entropies. */
export const objectives = (withEntropies = false): ReadonlyArray<Objective.Objective> =>
  all.filter((objective) => HostObjective.problem(objective, withEntropies) === undefined)

export const live = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof services> | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(services))

export const services = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  OrtWorker.layer({ threads: 1, device: "cpu" })
)

export const remote = Effect.fnUntraced(function* (url: string) {
  return yield* TinkerEngine.make({
    address: { url, apiKey: undefined },
    baseModel: "tiny",
    vocabSize: base.config.vocabSize,
    maxPositions: base.config.maxPositions,
    rank,
    seed
  })
})

/** Losses of steps with one batch, and the logprobs in the end. */
export const course = Effect.fnUntraced(function* (learner: Learner, batch: WeightedBatch, steps: number) {
  const losses: Array<number> = []
  const norms: Array<number> = []
  for (let step = 0; step < steps; step++) {
    const { figures, loss } = yield* learner.forwardBackward(batch)
    assert.isTrue([...figures.values()].every(Number.isFinite))
    losses.push(loss)
    norms.push((yield* learner.optimizerStep(0.003)).norm!)
  }
  return { losses, norms, logprobs: yield* learner.forward(batch) }
})

export const near = (a: ArrayLike<number>, b: ArrayLike<number>, tolerance: number, what: string) => {
  assert.strictEqual(a.length, b.length)
  for (let i = 0; i < a.length; i++)
    assert.isTrue(Math.abs(a[i]! - b[i]!) <= tolerance, `${what} ${i}: ${a[i]} ${b[i]}`)
}

export const loaded = (engine: LearnerEngineShape, objective: Objective.Objective, more: Partial<LoadOptions> = {}) =>
  engine.load({ objective, optimizer, maxLength: shape.maxLength, ...more })
