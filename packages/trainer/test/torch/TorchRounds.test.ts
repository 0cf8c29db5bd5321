import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { WeightedBatch } from "../../src/learn/WeightedBatch.ts"
import * as TorchRounds from "../../src/torch/TorchRounds.ts"

const batchOf = (lengths: ReadonlyArray<number>, isPaired = false): WeightedBatch => ({
  sequences: lengths.map((length, index) => ({
    tokens: new Int32Array(length + 1),
    mask: new Uint8Array(length + 1).fill(1),
    advantages: new Float32Array(length + 1),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group: 0,
    ...(isPaired && { pair: { partner: index ^ 1, preference: index % 2 === 0 ? 1 : -1 } as const })
  })),
  items: lengths.map((length, sequence) => ({ sequence, length, trained: length, weight: 1 }))
})

const length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 }))
const Case = Schema.Struct({
  lengths: Schema.Array(length).check(Schema.isMinLength(2), Schema.isMaxLength(60)),
  tokenBudget: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2000 })),
  ranks: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
  isPaired: Schema.Boolean,
  isPacked: Schema.Boolean
})

describe("rounds", () => {
  it.prop(
    "have every item once, within the budget unless it is alone, and pairs together",
    [Case],
    ([{ isPacked, isPaired, ranks, tokenBudget, ...one }]) => {
      const lengths = isPaired && one.lengths.length % 2 === 1 ? one.lengths.slice(1) : one.lengths
      const batch = batchOf(lengths, isPaired)
      const rounds = TorchRounds.of(batch, { tokenBudget, ranks, keepsPairs: isPaired, isPacked })
      assert.sameMembers(rounds.flat(2), Array.from(lengths.keys()))
      for (const round of rounds) {
        assert.isAtMost(round.length, ranks)
        for (const part of round) {
          const own = part.map((index) => lengths[index]!)
          const size = isPacked ? own.reduce((a, b) => a + b, 0) : Math.max(...own) * part.length
          assert.strictEqual(TorchRounds.positions(batch, [part], isPacked), size)
          if (part.length > (isPaired ? 2 : 1)) assert.isAtMost(size, tokenBudget)
          if (isPaired) for (const index of part) assert.include(part, index ^ 1)
        }
      }
    }
  )

  it("give every rank a micro-batch of similar size where there are enough sequences", () => {
    const lengths = Array.from({ length: 256 }, (_, index) => 200 + ((index * 37) % 300))
    const batch = batchOf(lengths)
    const rounds = TorchRounds.of(batch, { tokenBudget: 16_384, ranks: 8, keepsPairs: false, isPacked: false })
    const useful = lengths.reduce((sum, one) => sum + one, 0)
    const slowest = rounds.reduce(
      (sum, round) => sum + Math.max(...round.map((part) => TorchRounds.positions(batch, [part], false))),
      0
    )
    assert.isAbove(useful / (8 * slowest), 0.9)
  })
})
