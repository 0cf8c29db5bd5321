import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { KvCache } from "../../src/engine/cache/KvCache.ts"
import { PrefixCache } from "../../src/engine/cache/PrefixCache.ts"

const shape = { layers: 2, kvHeads: 2, headDim: 3 }
const blockTokens = 4
const partNumbers = shape.kvHeads * blockTokens * shape.headDim
const blockBytes = 4 * 2 * shape.layers * partNumbers

/** What a model would compute for a block: numbers that depend on all tokens up to its end. */
const entriesOf = (prompt: ReadonlyArray<number>, at: number): Float32Array => {
  const sum = prompt.slice(0, at + blockTokens).reduce((hash, token) => (31 * hash + token + 1) % 65_521, 7)
  return Float32Array.from({ length: 2 * shape.layers * partNumbers }, (_, i) => sum + i / 1024)
}

/** The run of a block in the company of others. */
const inCompany = (entries: Float32Array, row: number, rows: number): Float32Array => {
  const whole = new Float32Array(rows * entries.length).fill(-1)
  for (let part = 0; part < 2 * shape.layers; part++) {
    whole.set(entries.subarray(part * partNumbers, (part + 1) * partNumbers), (part * rows + row) * partNumbers)
  }
  return whole
}

const emptyFor = (prompt: ReadonlyArray<number>) => {
  const cache = new KvCache(shape)
  cache.addEmpty(prompt.length)
  return cache
}

/** Takes a prompt through: what is known from the cache, the rest as a model would compute it. */
const through = (prefixes: PrefixCache<string>, version: string, prompt: ReadonlyArray<number>) => {
  const cache = emptyFor(prompt)
  const known = prefixes.extend(version, prompt, cache)
  for (let at = known; at + blockTokens <= prompt.length; at += blockTokens) {
    const entries = entriesOf(prompt, at)
    cache.append(0, entries, 0, 1, blockTokens, blockTokens)
    const [row, rows] = [prompt[at]! % 3, 3]
    prefixes.keep(version, prompt, at, { entries: inCompany(entries, row, rows), row, rows })
  }
  return { cache, known }
}

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Prompts = Schema.Array(Schema.NonEmptyArray(whole(0, 2)).check(Schema.isMaxLength(20)))

describe("PrefixCache", () => {
  it.prop(
    "gives what a model would compute, within its memory, whatever came before",
    [Prompts, whole(0, 8)],
    ([prompts, blocks]) => {
      const prefixes = new PrefixCache<string>(shape, blockTokens, blocks * blockBytes)
      const versions = ["one", "two"]
      for (const [i, prompt] of prompts.entries()) {
        const { cache, known } = through(prefixes, versions[i % 2]!, prompt)
        const alone = through(new PrefixCache<string>(shape, blockTokens, 0), "one", prompt)
        assert.strictEqual(alone.known, 0)
        assert.isBelow(known, prompt.length)
        assert.deepStrictEqual(cache.feeds(1), alone.cache.feeds(1))
        assert.isAtMost(prefixes.bytes, blocks * blockBytes)
      }
    }
  )

  it("knows whole blocks of a prompt with the same beginning, but for the last token", () => {
    const prefixes = new PrefixCache<string>(shape, blockTokens, 100 * blockBytes)
    const prompt = Array.from({ length: 12 }, (_, i) => i)
    through(prefixes, "one", prompt)
    const known = (tokens: ReadonlyArray<number>, version = "one") => prefixes.extend(version, tokens, emptyFor(tokens))
    assert.strictEqual(known(prompt), 8)
    assert.strictEqual(known([...prompt, 12]), 12)
    assert.strictEqual(known([...prompt.slice(0, 6), 99, 98, 97]), 4)
    assert.strictEqual(known([99, ...prompt]), 0)
    assert.strictEqual(known(prompt, "two"), 0)
    prefixes.drop("one")
    assert.strictEqual(known(prompt), 0)
    assert.strictEqual(prefixes.bytes, 0)
  })

  it("forgets what was not used for longest, ends before beginnings", () => {
    const prefixes = new PrefixCache<string>(shape, blockTokens, 4 * blockBytes)
    const [long, other] = [Array.from({ length: 17 }, (_, i) => i), Array.from({ length: 9 }, (_, i) => 50 + i)]
    through(prefixes, "one", long)
    through(prefixes, "one", other)
    assert.strictEqual(prefixes.extend("one", other, emptyFor(other)), 8)
    const left = prefixes.extend("one", long, emptyFor(long))
    assert.isAbove(left, 0)
    assert.isBelow(left, 16)
  })
})
