import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as MicroBatch from "../../src/local/MicroBatch.ts"
import * as Packed from "./Packed.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import padding from "../fixtures/trainer-padding.json" with { type: "json" }

const sequenceOf = (length: number, seed = 0, more: Partial<TrainingSequence> = {}): TrainingSequence => ({
  tokens: Int32Array.from({ length }, (_, t) => (seed * 7 + t) % 50),
  mask: Uint8Array.from({ length }, (_, t) => (t * 3 < length ? 0 : 1)),
  advantages: new Float32Array(length).fill(seed % 2 === 0 ? 1 : -1),
  engineLogprobs: Float32Array.from({ length }, (_, t) => -0.1 * t),
  temperature: 1,
  score: 0,
  policyVersion: null,
  group: 0,
  ...more
})

const settings = { vocabSize: 50 }
const tokenMean = { aggregation: "token-mean", divisorTokens: 1 } as const
const pack = (sequences: ReadonlyArray<TrainingSequence>, more: Partial<Packed.Settings> = {}) =>
  Packed.of(sequences, tokenMean, { ...settings, ...more })

/** Normal numbers from a fixed stream (Box and Muller over a linear congruential generator). */
const gaussians = (seed: number) => {
  let state = seed
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state + 1) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

const logNormal = (count: number, seed: number, sigma: number) => {
  const gaussian = gaussians(seed)
  return Array.from({ length: count }, () =>
    Math.min(4096, Math.max(8, Math.round(600 * Math.exp(sigma * gaussian()))))
  )
}

const lengths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 70 }))).check(
  Schema.isMaxLength(40)
)

describe("MicroBatch", () => {
  it("keeps two sequences that are compared in one row, and leaves both out where one cannot be trained on", () => {
    const pairs = [40, 9, 30, 31, 12, 60, 8, 20].map((length, i) =>
      sequenceOf(length, i, { pair: { partner: i ^ 1, preference: i % 2 === 0 ? 1 : -1 } })
    )
    const more = { maxLength: 50, tokenBudget: 120 }
    const { batch, microBatches, report } = pack(pairs, more)
    // The sixth is too long, the fifth has nobody to be compared with.
    assert.deepStrictEqual(report.dropped, [
      { sequence: 5, reason: "too long" },
      { sequence: 4, reason: "compared with a dropped sequence" }
    ])
    assert.strictEqual(report.sequences, 6)
    for (const { length, pairs, placements, segmentIds } of microBatches) {
      for (const { item, row, start } of placements) {
        const { sequence } = batch.items[item]!
        const other = placements.find((place) => batch.items[place.item]!.sequence === (sequence ^ 1))!
        assert.strictEqual(other.row, row)
        assert.strictEqual(pairs!.partnerIds[row * length + start], segmentIds[row * length + other.start])
        assert.strictEqual(pairs!.preferences[row * length + start], sequence % 2 === 0 ? 1 : -1)
      }
    }
    assert.strictEqual(microBatches.flatMap(({ placements }) => placements).length, 6)
  })

  it("shifts tokens, labels and logprobs as the original does", () => {
    for (const golden of padding) {
      const sequences = golden.batch.flatMap((group) =>
        group.tokens.map((tokens, i) =>
          sequenceOf(tokens.length, 0, {
            tokens: Int32Array.from(tokens),
            mask: Uint8Array.from(group.masks[i]!, (label) => (label === -100 ? 0 : 1)),
            engineLogprobs: Float32Array.from(group.inference_logprobs[i]!)
          })
        )
      )
      const { batch: weighted, microBatches } = pack(sequences, { vocabSize: 1000 })
      const labels = golden.labels.flat()
      const logprobs = golden.logprobs.flat()
      const inputs = golden.tokens.flat()
      let seen = 0
      for (const batch of microBatches) {
        for (const { item, length, row, start } of batch.placements) {
          const { sequence } = weighted.items[item]!
          seen++
          for (let t = 0; t < length; t++) {
            const at = row * batch.length + start + t
            assert.strictEqual(batch.inputIds[at], inputs[sequence]![t])
            assert.strictEqual(batch.lossMask[at], labels[sequence]![t] === -100 ? 0 : 1)
            if (batch.lossMask[at] === 1) assert.strictEqual(batch.targetIds[at], labels[sequence]![t])
            assert.strictEqual(batch.engineLogprobs[at], logprobs[sequence]![t])
          }
        }
      }
      assert.strictEqual(seen, sequences.length)
    }
  })

  it.prop("places every sound sequence once, whole, in one row, within the budget", [lengths], ([given]) => {
    const sequences = given.map((length, i) => sequenceOf(length, i))
    const { batch: weighted, microBatches, report } = pack(sequences, { maxLength: 64, tokenBudget: 160, shapes: 4 })
    const placed = microBatches.flatMap(({ placements }) =>
      placements.map(({ item }) => weighted.items[item]!.sequence)
    )
    const left = report.dropped.map(({ sequence }) => sequence)
    assert.deepStrictEqual(
      [...placed, ...left].toSorted((a, b) => a - b),
      given.map((_, i) => i)
    )
    assert.isAtMost(new Set(microBatches.map(({ length }) => length)).size, 4)
    for (const batch of microBatches) {
      assert.isAtMost(batch.rows * batch.length, 160)
      const taken = new Uint8Array(batch.rows * batch.length)
      for (const { item, length, row, start } of batch.placements) {
        const { sequence } = weighted.items[item]!
        assert.strictEqual(length, given[sequence]! - 1)
        assert.isAtMost(start + length, batch.length)
        for (let t = 0; t < length; t++) {
          const at = row * batch.length + start + t
          assert.strictEqual(taken[at], 0)
          taken[at] = 1
          assert.strictEqual(batch.inputIds[at], sequences[sequence]!.tokens[t])
          assert.strictEqual(batch.targetIds[at], sequences[sequence]!.tokens[t + 1])
          assert.strictEqual(batch.positionIds[at], t)
          assert.strictEqual(batch.segmentIds[at], batch.segmentIds[at - t])
        }
      }
      batch.segmentIds.forEach((segment, at) => assert.strictEqual(segment === -1, taken[at] === 0))
    }
  })

  it.prop("gives equal micro-batches for equal input", [lengths], ([given]) => {
    const sequences = given.map((length, i) => sequenceOf(length, i))
    assert.deepStrictEqual(pack(sequences), pack(sequences))
  })

  it.prop("has token weights that sum to 1 under either mean", [lengths], ([given]) => {
    const sequences = given.map((length, i) => sequenceOf(length, i))
    for (const aggregation of ["token-mean", "sequence-mean"] as const) {
      const packed = Packed.of(sequences, { aggregation, divisorTokens: 1 }, settings)
      const weights = packed.microBatches.flatMap((batch) => [...batch.tokenWeights])
      const untrained = packed.report.dropped.filter(({ reason }) => reason === "nothing to train").length
      const whole = aggregation === "token-mean" ? 1 : 1 - untrained / packed.report.sequences
      if (weights.length === 0) continue
      assert.closeTo(
        weights.reduce((sum, weight) => sum + weight, 0),
        whole,
        1e-12
      )
    }
  })

  it("wastes less than 5% on log-normal lengths of median 600, cap 4096", () => {
    for (const sigma of [0.6, 0.8, 1]) {
      for (let seed = 1; seed <= 5; seed++) {
        const packed = pack(logNormal(256, seed, sigma).map((length, i) => sequenceOf(length, i)))
        assert.isAtLeast(packed.report.usefulTokens / packed.positions, 0.95, `sigma ${sigma}, seed ${seed}`)
        assert.isAtMost(new Set(packed.microBatches.map(({ length }) => length)).size, MicroBatch.defaults.shapes)
      }
    }
  })

  it("does not pad sequences of one length", () => {
    const { positions, report } = pack(
      Array.from({ length: 128 }, (_, i) => sequenceOf(13, i)),
      { maxLength: 16, tokenBudget: 1024 }
    )
    assert.strictEqual(positions, report.usefulTokens)
  })

  it("keeps row lengths a multiple of what the graph needs", () => {
    const { microBatches } = pack(
      logNormal(40, 3, 1).map((length, i) => sequenceOf(length, i)),
      { multiple: 7 }
    )
    for (const { length } of microBatches) assert.strictEqual(length % 7, 0)
  })

  it("cuts or drops what is too long, as told, and counts it", () => {
    const sequences = [sequenceOf(40), sequenceOf(20)]
    const dropped = pack(sequences, { maxLength: 32 })
    assert.deepStrictEqual(dropped.report.dropped, [{ sequence: 0, reason: "too long" }])
    const cut = pack(sequences, { maxLength: 32, tooLong: "cut" })
    assert.strictEqual(cut.report.cut, 1)
    assert.strictEqual(cut.report.usefulTokens, 32 + 19)
  })

  it("leaves out ids outside the vocabulary and numbers that are not finite, and says which", () => {
    const nan = new Float32Array(9).fill(Number.NaN)
    const sequences = [
      sequenceOf(9, 0, { tokens: Int32Array.of(1, 2, 3, 50, 5, 6, 7, 8, 9) }),
      sequenceOf(9, 0, { tokens: Int32Array.of(1, 2, 3, -1, 5, 6, 7, 8, 9) }),
      sequenceOf(9, 0, { advantages: nan }),
      sequenceOf(9, 0, { engineLogprobs: nan.map(() => -Infinity) }),
      sequenceOf(9, 0, { mask: new Uint8Array(9) }),
      sequenceOf(9)
    ]
    const { report } = pack(sequences)
    assert.deepStrictEqual(report.dropped, [
      { sequence: 0, reason: "token outside the vocabulary" },
      { sequence: 1, reason: "token outside the vocabulary" },
      { sequence: 2, reason: "not finite" },
      { sequence: 3, reason: "not finite" },
      { sequence: 4, reason: "nothing to train" }
    ])
    assert.strictEqual(report.sequences, 2)
  })

  it("feeds the graph 1 for the logprob of a token that was not sampled", () => {
    const { microBatches } = pack([sequenceOf(4, 0, { engineLogprobs: Float32Array.of(NaN, NaN, -0.5, -2) })])
    assert.deepStrictEqual([...microBatches[0]!.oldLogprobs.subarray(0, 3)], [1, -0.5, -2])
    assert.deepStrictEqual([...microBatches[0]!.engineLogprobs.subarray(0, 3)], [1, -0.5, -2])
  })

  it("skips sequences without advantage but keeps them in the denominators", () => {
    const sequences = [sequenceOf(10), sequenceOf(10, 0, { advantages: new Float32Array(10) })]
    const { microBatches, report } = pack(sequences, { skipZeroAdvantage: true })
    assert.strictEqual(report.zeroAdvantage, 1)
    const weights = microBatches.flatMap((batch) => [...batch.tokenWeights])
    assert.closeTo(
      weights.reduce((a, b) => a + b, 0),
      0.5,
      1e-12
    )
  })

  it.prop(
    "keeps micro-batches within a budget below the longest row allowed, except a long row alone",
    { lengths },
    ({ lengths }) => {
      const sequences = lengths.map((length, i) => sequenceOf(length + 2, i))
      const longest = Math.max(0, ...lengths) + 1
      const { microBatches } = pack(sequences, { maxLength: 4096, tokenBudget: 64, multiple: 4 })
      for (const { length, rows } of microBatches) {
        // The ladder's steps are 256 long.
        assert.isTrue(
          rows === 1 ? length <= Math.max(64, 256) : rows * length <= 64,
          `${rows} x ${length} for ${longest}`
        )
      }
    }
  )
})
