/**
 * Share of computed positions that hold a token: ours, packed into rows of a few lengths, next to the original's
 * example trainer, which pads the sequences of a batch to the longest of them (`pad_data_to_good_offset`: to the next
 * multiple of 64). Lengths are log-normal, median 600, at most 4096. Goal: 95 %.
 */
import * as Preset from "../../packages/trainer/src/loss/Preset.ts"
import * as MicroBatch from "../../packages/trainer/src/local/MicroBatch.ts"
import type { TrainingSequence } from "../../packages/trainer/src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../packages/trainer/src/learn/WeightedBatch.ts"
import { Result } from "effect"
import type { Row } from "../internal/Report.ts"

const median = 600
const deviation = 0.8
const cap = 4096
const goodMultiple = 64
const vocabSize = 32

/** Deterministic: every run packs the same batches. */
const uniforms = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 8) / 2 ** 24
  }
}

const lengths = (count: number, uniform: () => number): ReadonlyArray<number> =>
  Array.from({ length: count }, () => {
    const normal = Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
    return Math.max(2, Math.min(cap, Math.round(median * Math.exp(deviation * normal))))
  })

const sequence = (length: number): TrainingSequence => ({
  tokens: new Int32Array(length),
  mask: new Uint8Array(length).fill(1),
  advantages: new Float32Array(length).fill(1),
  temperature: 1,
  score: 0,
  policyVersion: null,
  group: 0
})

const batches = 8

export const measure = (batchSize: number, multiple = 16): Row => {
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  const uniform = uniforms(batchSize)
  const sums = { useful: 0, packed: 0, padded: 0 }
  for (let round = 0; round < batches; round++) {
    const drawn = lengths(batchSize, uniform)
    const settings = { ...MicroBatch.defaults, multiple, vocabSize }
    const { batch, report } = WeightedBatch.choose(drawn.map(sequence), objective, settings)
    sums.useful += report.usefulTokens
    sums.packed += MicroBatch.positions(MicroBatch.pack(batch, settings))
    sums.padded += drawn.length * Math.ceil(Math.max(...drawn) / goodMultiple) * goodMultiple
  }
  return {
    what: `useful positions, batches of ${batchSize}`,
    ours: (100 * sums.useful) / sums.packed,
    reference: (100 * sums.useful) / sums.padded,
    unit: "%",
    better: "larger",
    goal: (95 * sums.padded) / (100 * sums.useful)
  }
}
