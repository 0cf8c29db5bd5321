/** An engine under the contract, what it is allowed not to have, and how its answers are compared. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, type FileSystem, type Layer, type Path, type Scope } from "effect"
import { type Learner, LearnerEngine, type LoadOptions } from "../../../src/learn/LearnerEngine.ts"
import type { WeightedBatch } from "../../../src/learn/WeightedBatch.ts"
import type { Objective } from "../../../src/loss/Objective.ts"
import * as Batches from "./Batches.ts"

export interface Subject {
  /** Built anew for each test, with weights as if nothing had been trained. */
  readonly layer: Layer.Layer<LearnerEngine, unknown, FileSystem.FileSystem | Path.Path>
  /** Largest difference between logprobs of equal weights, nats; 0 where equal work gives equal bits. */
  readonly tolerance: number
  /** A learning rate at which one step is seen in the logprobs, and ten spoil nothing. */
  readonly learningRate: number
  /** Whether logprobs are told at temperature 1 alone; sequences of another one are then refused by name. */
  readonly hasOneTemperature?: boolean
  /** Versions that samplers were given since the test began, where that can be known. */
  readonly published?: Effect.Effect<ReadonlyArray<number>>
  /** An objective that the engine cannot do, where there is one. */
  readonly refused?: Objective
  /** Makes the engine lose the weights of its learners, as a restart does, where that can be done. */
  readonly lose?: Effect.Effect<void, unknown, LearnerEngine>
}

export type Logprobs = ReadonlyArray<Float32Array>

/** Largest difference, nats. */
export const distance = (a: Logprobs, b: Logprobs): number =>
  Math.max(...a.flatMap((row, i) => Array.from(row, (value, t) => Math.abs(value - b[i]![t]!))))

export const load = (options: Partial<LoadOptions> = {}) =>
  Effect.flatMap(LearnerEngine, ({ load }) =>
    load({ objective: Batches.grpo, maxLength: Batches.maxLength, ...options })
  )

/** A gradient and a step, both of which must come to something. */
export const learn = Effect.fnUntraced(function* (learner: Learner, batch: WeightedBatch, rate: number) {
  const computed = yield* learner.forwardBackward(batch)
  const updated = yield* learner.optimizerStep(rate)
  assert.isTrue(computed.isFinite && updated.isApplied)
  return { computed, updated }
})

/** What the tests of one engine are made with. */
export const make = ({ hasOneTemperature = false, layer, learningRate, tolerance }: Subject) => ({
  tolerance,
  rate: learningRate,
  hasOneTemperature,
  ...Batches.make(hasOneTemperature ? [1] : [1, 0.7]),
  isSame: (a: Logprobs, b: Logprobs, what: string) => {
    if (tolerance === 0) assert.deepStrictEqual(a, b, what)
    else assert.isAtMost(distance(a, b), tolerance, what)
  },
  isOther: (a: Logprobs, b: Logprobs, what: string) => assert.isAbove(distance(a, b), 4 * tolerance, what),
  test: (
    title: string,
    effect: Effect.Effect<void, unknown, LearnerEngine | FileSystem.FileSystem | Path.Path | Scope.Scope>
  ) => it.live(title, () => effect.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeServices.layer)))
})

export type Bench = ReturnType<typeof make>
