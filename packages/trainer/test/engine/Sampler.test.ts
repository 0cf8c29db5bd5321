import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import * as Sampler from "../../src/engine/Sampler.ts"

const hex = (words: ReadonlyArray<number>) => words.map((word) => word.toString(16).padStart(8, "0")).join(" ")

describe("CounterRandom", () => {
  it("gives the known answers of Philox-4x32-10", () => {
    assert.strictEqual(hex(CounterRandom.philox([0, 0, 0, 0], [0, 0])), "6627e8d5 e169c58d bc57ac4c 9b00dbd8")
    const ones = 0xffffffff
    assert.strictEqual(
      hex(CounterRandom.philox([ones, ones, ones, ones], [ones, ones])),
      "408f276d 41c83b0e a20bc7c6 6d5451fd"
    )
    assert.strictEqual(
      hex(CounterRandom.philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])),
      "d16cfe09 94fdcceb 5001e420 24126ea1"
    )
  })

  it.prop(
    "is uniform in [0, 1) and a function of its arguments",
    [Schema.Int, Schema.Natural, Schema.Natural],
    (at) => {
      const value = CounterRandom.uniform(...at)
      assert.isTrue(value >= 0 && value < 1)
      assert.strictEqual(CounterRandom.uniform(...at), value)
    }
  )

  it("fills sixteen bins evenly", () => {
    const counts = Array.from({ length: 16 }, () => 0)
    for (let i = 0; i < 16_000; i++) counts[Math.floor(16 * CounterRandom.uniform(7, i % 8, Math.floor(i / 8)))]!++
    // 15 degrees of freedom: 37.7 is exceeded once in a thousand times.
    assert.isBelow(
      chiSquare(
        counts,
        Array.from({ length: 16 }, () => 1000)
      ),
      37.7
    )
  })
})

const chiSquare = (counts: ReadonlyArray<number>, expected: ReadonlyArray<number>) =>
  counts.reduce((sum, count, i) => sum + (count - expected[i]!) ** 2 / expected[i]!, 0)

/** Logits between -6 and 6, a function of the seed. */
const logitsOf = (seed: number, size: number) =>
  Float32Array.from({ length: size }, (_, i) => 12 * CounterRandom.uniform(seed, 0, i) - 6)

const softmax = (logits: Float32Array, temperature: number) => {
  const max = Math.max(...logits)
  const weights = Array.from(logits, (logit) => Math.exp((logit - max) / temperature))
  const sum = weights.reduce((a, b) => a + b, 0)
  return weights.map((weight) => weight / sum)
}

const byLogit = (logits: Float32Array) => Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]! || a - b)

const Seed = Schema.Natural
const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
const Temperature = Schema.Finite.check(Schema.isBetween({ minimum: 0.25, maximum: 4 }))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const all = { temperature: 1, topK: 0, topP: 1 }

describe("Sampler", () => {
  it("cuts a vocabulary into blocks of one size", () => {
    for (const vocabulary of [1, 13, 512, 32_000, 49_152, 50_257, 128_256, 151_936]) {
      assert.strictEqual(vocabulary % Sampler.blockSize(vocabulary), 0)
    }
    assert.isTrue(Sampler.blockSize(151_936) <= 512)
  })

  it.prop(
    "gives logprobs of the whole distribution at the temperature",
    [Seed, Size, Temperature],
    ([seed, size, t]) => {
      const logits = logitsOf(seed, size)
      const row = Sampler.row(logits, 1 / t)
      const probabilities = softmax(logits, t)
      const { logprob, token } = Sampler.draw(row, { ...all, temperature: t, topK: 2 }, 0.7)
      assert.closeTo(logprob, Math.log(probabilities[token]!), 1e-6)
      assert.closeTo(Sampler.logprob(row, token), logprob, 1e-12)
    }
  )

  it.prop("does not depend on how the vocabulary is cut", [Seed, Temperature, Share], ([seed, t, u]) => {
    const logits = logitsOf(seed, 36)
    for (const topK of [0, 5]) {
      const [whole, cut] = [36, 6].map((size) =>
        Sampler.draw(Sampler.row(logits, 1 / t, size), { temperature: t, topK, topP: 1 }, Math.min(u, 0.999))
      )
      // Sums of blocks are float32: a draw within rounding of a boundary may fall on either side.
      if (whole!.token !== cut!.token) {
        const edges = softmax(logits, t)
        let sum = 0
        const near = edges.some((p) => Math.abs((sum += p) - Math.min(u, 0.999)) < 1e-6)
        assert.isTrue(near)
      }
    }
  })

  it.prop(
    "takes the likeliest token, the first of equals, at temperature 0",
    [Seed, Size, Share],
    ([seed, size, u]) => {
      const logits = logitsOf(seed, size).map((logit) => Math.round(logit))
      const { logprob, token } = Sampler.draw(Sampler.row(logits, 1), { ...all, temperature: 0 }, u)
      assert.strictEqual(token, byLogit(logits)[0])
      assert.closeTo(logprob, Math.log(softmax(logits, 1)[token]!), 1e-6)
    }
  )

  it.prop("keeps to the k likeliest", [Seed, Size, Size, Share], ([seed, size, k, u]) => {
    const logits = logitsOf(seed, size)
    const { token } = Sampler.draw(Sampler.row(logits, 1), { ...all, topK: k }, Math.min(u, 0.9999))
    assert.include(byLogit(logits).slice(0, k), token)
  })

  it.prop("keeps to the smallest set that reaches top-p", [Seed, Size, Share, Share], ([seed, size, p, u]) => {
    const logits = logitsOf(seed, size)
    const probabilities = softmax(logits, 1)
    const { token } = Sampler.draw(Sampler.row(logits, 1), { ...all, topP: p }, Math.min(u, 0.9999))
    const order = byLogit(logits)
    const before = order.slice(0, order.indexOf(token)).reduce((sum, i) => sum + probabilities[i]!, 0)
    assert.isTrue(before < p + 1e-6 || token === order[0])
  })

  it.prop(
    "keeps to tokens within min-p of the likeliest, also of what top-k and top-p leave",
    [Seed, Size, Share, Share, Schema.Literals([0, 3]), Schema.Literals([1, 0.8])],
    ([seed, size, minP, u, topK, topP]) => {
      const logits = logitsOf(seed, size)
      const probabilities = softmax(logits, 0.5)
      const sampling = { temperature: 0.5, topK, topP, minP }
      const { token } = Sampler.draw(Sampler.row(logits, 2), sampling, Math.min(u, 0.9999))
      assert.isTrue(probabilities[token]! >= minP * Math.max(...probabilities) * (1 - 1e-5))
    }
  )

  it("leaves out what is less than min-p times as likely as the likeliest, and keeps what is more", () => {
    // The second is 0.37 times as likely as the first, the third 0.14 times; drawn is the last of those that stay.
    const row = Sampler.row(Float32Array.of(0, -1, -2), 1)
    const lastAt = (minP: number, more = {}) => Sampler.draw(row, { ...all, ...more, minP }, 0.9999).token
    assert.deepStrictEqual(
      [0, 0.1, 0.2, 0.5, 1].map((minP) => lastAt(minP)),
      [2, 2, 1, 0, 0]
    )
    assert.deepStrictEqual([lastAt(0.1, { topK: 2 }), lastAt(0.5, { topK: 2 }), lastAt(0.5, { topP: 0.95 })], [1, 0, 0])
  })

  it.prop("lists the likeliest alternatives in order", [Seed, Size, Size], ([seed, size, k]) => {
    const logits = logitsOf(seed, size)
    const row = Sampler.row(logits, 1)
    const { logprobs, tokens } = Sampler.alternatives(row, k)
    assert.deepStrictEqual(tokens, byLogit(logits).slice(0, k))
    for (const [i, token] of tokens.entries()) assert.closeTo(logprobs[i]!, Sampler.logprob(row, token), 1e-12)
  })

  const draws = 20_000
  const counts = (logits: Float32Array, sampling: { temperature: number; topK: number; topP: number }) => {
    const row = Sampler.row(logits, 1 / sampling.temperature, 4)
    const counts = Array.from(logits, () => 0)
    for (let i = 0; i < draws; i++) counts[Sampler.draw(row, sampling, CounterRandom.uniform(11, 0, i)).token]!++
    return counts
  }
  const logits = Float32Array.of(1, 0.5, -1, 2, 0, 0.25, -0.5, 1.5)

  it.each([0.5, 1, 2])("draws from softmax(logits / %d)", (temperature) => {
    const expected = softmax(logits, temperature).map((p) => p * draws)
    // 7 degrees of freedom, one in a thousand.
    assert.isBelow(chiSquare(counts(logits, { temperature, topK: 0, topP: 1 }), expected), 24.3)
  })

  it("draws from the k likeliest by their share", () => {
    const kept = byLogit(logits).slice(0, 3)
    const probabilities = softmax(logits, 1)
    const mass = kept.reduce((sum, i) => sum + probabilities[i]!, 0)
    const seen = counts(logits, { temperature: 1, topK: 3, topP: 1 })
    assert.strictEqual(
      kept.reduce((sum, i) => sum + seen[i]!, 0),
      draws
    )
    // 2 degrees of freedom, one in a thousand.
    const expected = kept.map((i) => (probabilities[i]! / mass) * draws)
    assert.isBelow(
      chiSquare(
        kept.map((i) => seen[i]!),
        expected
      ),
      13.8
    )
  })

  it("applies top-p to what top-k left", () => {
    // Of the two likeliest (2 and 1.5) the first has 62% of the rest: it alone reaches 0.6.
    assert.strictEqual(counts(logits, { temperature: 1, topK: 2, topP: 0.6 })[3], draws)
    assert.isBelow(counts(logits, { temperature: 1, topK: 2, topP: 0.7 })[3]!, draws)
  })
})
