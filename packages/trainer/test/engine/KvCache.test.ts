import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as KvCache from "../../src/engine/KvCache.ts"

const shape = { layers: 2, kvHeads: 2, headDim: 3 }

/** The number that position t of a sequence holds: a different one everywhere. */
const entry = (sequence: number, t: number, layer: number, part: number, head: number, d: number) =>
  ((((sequence * 4096 + t) * 2 + layer) * 2 + part) * 2 + head) * 3 + d + 1

/** What a run of one row computes for positions `from` to `from + count` of a sequence, padded to `width`. */
const computed = (sequence: number, from: number, count: number, width: number) => {
  const entries = new Float32Array(2 * 2 * 2 * width * 3)
  let i = 0
  for (let layer = 0; layer < 2; layer++) {
    for (let part = 0; part < 2; part++) {
      for (let head = 0; head < 2; head++) {
        for (let t = 0; t < width; t++) {
          for (let d = 0; d < 3; d++) entries[i++] = t < count ? entry(sequence, from + t, layer, part, head, d) : NaN
        }
      }
    }
  }
  return entries
}

/** Checks every entry that a graph run would read of a row. */
const assertHolds = (cache: KvCache.KvCache, row: number, sequence: number) => {
  const feeds = cache.feeds(cache.rows)
  const positions = cache.positions
  for (let layer = 0; layer < 2; layer++) {
    const keys = feeds[`past_keys.${layer}`]!.data
    const values = feeds[`past_values.${layer}`]!.data
    for (let head = 0; head < 2; head++) {
      for (let d = 0; d < 3; d++) {
        for (let t = 0; t < cache.lengths[row]!; t++) {
          const at = (row * 2 + head) * 3
          assert.strictEqual(keys[(at + d) * positions + t], entry(sequence, t, layer, 0, head, d))
          assert.strictEqual(values[at * positions + t * 3 + d], entry(sequence, t, layer, 1, head, d))
        }
      }
    }
    assert.isFalse(keys.some((value) => Number.isNaN(Number(value))))
  }
}

const Action = Schema.Struct({
  what: Schema.Literals(["add", "append", "remove"]),
  at: Schema.Natural,
  count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 90 }))
})

describe("KvCache", () => {
  it.prop("holds what was appended to each row, whatever joins and leaves", [Schema.Array(Action)], ([actions]) => {
    const cache = new KvCache.KvCache(shape)
    const sequences: Array<number> = []
    let next = 0
    for (const { at, count, what } of actions) {
      if (what === "add") {
        const prompt = new KvCache.KvCache(shape)
        prompt.addEmpty(count)
        prompt.append(0, computed(next, 0, count, count + 1), 0, 1, count + 1, count)
        cache.add(prompt, 0)
        sequences.push(next++)
      } else if (sequences.length > 0 && what === "append") {
        const row = at % sequences.length
        const length = cache.lengths[row]!
        cache.reserve(cache.rows, Math.max(...cache.lengths, length + count))
        cache.append(row, computed(sequences[row]!, length, count, count), 0, 1, count, count)
      } else if (sequences.length > 0 && what === "remove") {
        const row = at % sequences.length
        cache.remove(row)
        sequences[row] = sequences.at(-1)!
        sequences.pop()
      }
      for (const [row, sequence] of sequences.entries()) assertHolds(cache, row, sequence)
      const longest = Math.max(1, ...cache.lengths)
      assert.isAtLeast(cache.positions, sequences.length === 0 ? 0 : longest)
    }
  })

  it.prop("takes what is announced for it", [Schema.Natural, Schema.Natural], ([moreRows, morePositions]) => {
    const rows = 1 + (moreRows % 20)
    const positions = 1 + (morePositions % 2000)
    const cache = new KvCache.KvCache(shape)
    cache.reserve(rows, positions)
    assert.strictEqual(cache.bytes, KvCache.bytesFor(shape, rows, positions))
    assert.strictEqual(cache.positions % 64, 0)
    assert.isBelow(cache.positions, Math.max(65, 1.26 * positions + 64))
    cache.reserve(1, 1)
    assert.isAtMost(cache.bytes, 4 * KvCache.bytesFor(shape, 1, 1))
  })

  it("hands out its memory, not a copy", () => {
    const cache = new KvCache.KvCache(shape)
    cache.reserve(4, 64)
    const [first, second] = [cache.feeds(1), cache.feeds(4)].map((feeds) => feeds["past_keys.0"]!.data.buffer)
    assert.strictEqual(first, second)
  })
})
