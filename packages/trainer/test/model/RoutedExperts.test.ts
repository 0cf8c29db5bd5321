/** Choices of experts as words. */
import { assert, describe, it } from "@effect/vitest"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import * as RoutedExperts from "../../src/model/part/RoutedExperts.ts"

describe("choices of experts", () => {
  for (const routing of [
    { layers: 1, perToken: 3, experts: 12 },
    { layers: 2, perToken: 4, experts: 256 },
    { layers: 3, perToken: 3, experts: 257 }
  ]) {
    const { experts, layers, perToken } = routing
    it(`of ${layers} layers with ${experts} experts come back from their words`, () => {
      const positions = 7
      const choices = Int32Array.from({ length: positions * layers * perToken }, (_, i) =>
        Math.floor(experts * CounterRandom.uniform(1, 2, i))
      )
      choices[5] = experts - 1
      const words = RoutedExperts.pack(routing, choices)
      assert.strictEqual(words.length, positions * RoutedExperts.wordsOf(routing))
      assert.isTrue(RoutedExperts.fits(routing, words, positions))
      assert.isFalse(RoutedExperts.fits(routing, words, positions - 1))
      const back = new Int32Array(choices.length + 1).fill(RoutedExperts.unknown)
      RoutedExperts.unpack(routing, words, positions, back, 1)
      assert.deepStrictEqual(back.subarray(1), choices)
      assert.strictEqual(back[0], RoutedExperts.unknown)
      assert.isFalse(RoutedExperts.fits({ ...routing, experts: experts - 1 }, words, positions))
    })
  }
})
