import { assert, describe, it } from "@effect/vitest"
import * as EqualAnswers from "../../src/rollout/submit/EqualAnswers.ts"

const find = (sequences: ReadonlyArray<ReadonlyArray<number>>, scores: ReadonlyArray<number>) =>
  EqualAnswers.find({ tokens: sequences.map((one) => Int32Array.from(one)), scores: Float64Array.from(scores) })

describe("EqualAnswers", () => {
  it("finds the answers of a group that were given more than once, and how far apart their scores are", () => {
    assert.deepStrictEqual(find([[1, 2], [1, 2], [1, 3], [4]], [1, 1, 0, 0]), [{ rollouts: 2, spread: 0 }])
    assert.deepStrictEqual(
      find(
        [
          [1, 2],
          [1, 2],
          [1, 2],
          [1, 3],
          [1, 3]
        ],
        [1, 0, 1, 0.5, 0.5]
      ),
      [
        { rollouts: 3, spread: 1 },
        { rollouts: 2, spread: 0 }
      ]
    )
    // The same bytes in other places are other tokens.
    assert.deepStrictEqual(find([[1, 0], [256]], [1, 0]), [])
  })

  it("takes scores that are far apart for a contradiction, and a judge's little more or less for none", () => {
    assert.isUndefined(EqualAnswers.contradicting([], 1))
    const found = [
      { rollouts: 3, spread: 1 },
      { rollouts: 2, spread: 0.1 },
      { rollouts: 5, spread: 0 }
    ]
    assert.strictEqual(EqualAnswers.contradicting(found, 1), 0.3)
    assert.strictEqual(EqualAnswers.contradicting([{ rollouts: 2, spread: 0 }], 0), 0)
  })
})
