/** One fixed batch of ragged sequences with what any objective may look at, from a fixed stream of numbers. */
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import { uniforms } from "../loss/ToyPolicy.ts"

export interface Shape {
  readonly vocabSize: number
  readonly maxLength: number
  /** Tokens of the shortest sequence. */
  readonly shortest: number
  readonly count: number
}

const sequenceOf = (index: number, { shortest, vocabSize }: Shape): TrainingSequence => {
  const uniform = uniforms(index + 1)
  const length = shortest + 3 * index
  const reals = (low: number, high: number) => Float32Array.from({ length }, () => low + (high - low) * uniform())
  const usual = Math.log(vocabSize)
  const tokens = Int32Array.from({ length }, () => Math.floor(uniform() * vocabSize))
  return {
    tokens,
    mask: Uint8Array.from({ length }, (_, t) => (t >= 3 ? 1 : 0)),
    advantages: new Float32Array(length).fill(index % 2 === 0 ? 1 + 0.1 * index : -0.7),
    engineLogprobs: reals(-usual - 0.4, -usual + 0.4),
    refLogprobs: reals(-usual - 0.2, -usual + 0.2),
    distillTokenIds: Array.from(tokens, (token) => Int32Array.of(token)),
    distillLogprobs: Array.from(tokens, (token) => Float32Array.of(-usual + (token % 3) - 1)),
    temperature: 1,
    score: index % 2,
    policyVersion: 0,
    group: Math.floor(index / 2)
  }
}

export const sequences = (shape: Shape): ReadonlyArray<TrainingSequence> =>
  Array.from({ length: shape.count }, (_, index) => sequenceOf(index, shape))

/** Neighbours of a group, the second the better one. */
const paired = (sequence: TrainingSequence, index: number): TrainingSequence => ({
  ...sequence,
  pair: index % 2 === 0 ? { partner: index + 1, preference: -1 } : { partner: index - 1, preference: 1 }
})

export const batchOf = (objective: Objective, shape: Shape): WeightedBatch.WeightedBatch => {
  const all = sequences(shape)
  return WeightedBatch.choose(objective.needsPairs ? all.map(paired) : all, objective, {
    maxLength: shape.maxLength,
    vocabSize: shape.vocabSize
  }).batch
}
