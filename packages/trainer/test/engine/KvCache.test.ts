import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as KvCache from "../../src/engine/cache/KvCache.ts"
import * as KvShape from "../../src/engine/cache/KvShape.ts"

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
  const size = cache.page
  const { data: rowPages, shape: places } = feeds["row_pages"]!
  for (let layer = 0; layer < 2; layer++) {
    const keys = feeds[`past_keys.${layer}`]!.data
    const values = feeds[`past_values.${layer}`]!.data
    for (let t = 0; t < cache.lengths[row]!; t++) {
      const page = Number(rowPages[row * places[1]! + Math.floor(t / size)])
      for (let head = 0; head < 2; head++) {
        for (let d = 0; d < 3; d++) {
          const at = (page * 2 + head) * 3
          assert.strictEqual(keys[(at + d) * size + (t % size)], entry(sequence, t, layer, 0, head, d))
          assert.strictEqual(values[at * size + (t % size) * 3 + d], entry(sequence, t, layer, 1, head, d))
        }
      }
    }
    assert.isFalse(keys.some((value) => Number.isNaN(Number(value))))
  }
}

/** Every page belongs to one row, which has as many as its positions need and no more than were asked for. */
const assertPaged = (cache: KvCache.KvCache) => {
  const { page_rows: pageRows, page_starts: starts, row_pages: rowPages } = cache.feeds(cache.rows)
  const most = rowPages!.shape[1]!
  const listed = Array.from(rowPages!.data, Number).flatMap((page, i) =>
    page < 0 ? [] : [{ page, row: Math.floor(i / most), start: (i % most) * cache.page }]
  )
  for (const { page, row, start } of listed) {
    assert.strictEqual(pageRows!.data[page], row)
    assert.strictEqual(starts!.data[page], start)
  }
  const pages = listed.map(({ page }) => page).toSorted((a, b) => a - b)
  assert.deepStrictEqual(pages, [...pages.keys()])
  assert.strictEqual(pageRows!.shape[0], Math.max(1, pages.length))
}

const Action = Schema.Struct({
  what: Schema.Literals(["add", "append", "remove"]),
  at: Schema.Natural,
  count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 }))
})

describe("KvCache", () => {
  it.prop("holds what was appended to each row, whatever joins and leaves", [Schema.Array(Action)], ([actions]) => {
    const cache = new KvCache.KvCache(shape)
    const sequences: Array<number> = []
    let next = 0
    for (const { at, count, what } of actions) {
      if (what === "add") {
        const prompt = new KvCache.KvCache(shape, at % 2 === 0 ? KvShape.rowPage : KvShape.promptPage)
        prompt.addEmpty(count)
        prompt.append(0, computed(next, 0, count, count + 1), 0, 1, count + 1, count)
        cache.add(prompt, 0)
        sequences.push(next++)
      } else if (sequences.length > 0 && what === "append") {
        const row = at % sequences.length
        const length = cache.lengths[row]!
        cache.reserve(cache.lengths.map((own, other) => (other === row ? length + count : own)))
        cache.append(row, computed(sequences[row]!, length, count, count), 0, 1, count, count)
      } else if (sequences.length > 0 && what === "remove") {
        const row = at % sequences.length
        cache.remove(row)
        sequences[row] = sequences.at(-1)!
        sequences.pop()
      }
      for (const [row, sequence] of sequences.entries()) assertHolds(cache, row, sequence)
      assertPaged(cache)
      // What is used in whole pages, and a third more until so much is given back.
      const used = KvShape.bytesFor(shape, cache.lengths)
      assert.isAtLeast(cache.bytes, sequences.length === 0 ? 0 : used)
      cache.reserve(cache.lengths)
      assert.isAtMost(cache.bytes, (4 / 3) * used)
    }
  })

  it.prop("takes what is announced for it", [Schema.Array(Schema.Natural)], ([positions]) => {
    const lengths = positions.map((count) => 1 + (count % 2000))
    const cache = new KvCache.KvCache(shape)
    for (const length of lengths) cache.addEmpty(length)
    assert.strictEqual(cache.bytes, lengths.length === 0 ? 0 : KvShape.bytesFor(shape, lengths))
    const pages = lengths.reduce((sum, length) => sum + Math.ceil(length / KvShape.rowPage), 0)
    assert.isAtMost(cache.bytes, 1.13 * Math.max(1, pages) * KvShape.bytesFor(shape, [1]))
  })

  it("hands out its memory, not a copy", () => {
    const cache = new KvCache.KvCache(shape)
    cache.addEmpty(64)
    const [first, second] = [cache.feeds(1), cache.feeds(2)].map((feeds) => feeds["past_keys.0"]!.data.buffer)
    assert.strictEqual(first, second)
  })
})
