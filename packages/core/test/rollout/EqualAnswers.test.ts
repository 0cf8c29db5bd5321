import { assert, describe, it } from "@effect/vitest"
import * as EqualAnswers from "../../src/rollout/submit/EqualAnswers.ts"

const count = (sequences: ReadonlyArray<ReadonlyArray<number>>, scores: ReadonlyArray<number>) =>
  EqualAnswers.count({ tokens: sequences.map((one) => Int32Array.from(one)), scores: Float64Array.from(scores) })

describe("EqualAnswers", () => {
  it("counts answers that are equal to another one, and those whose equals have another score", () => {
    assert.deepStrictEqual(count([[1, 2], [1, 2], [1, 3], [4]], [1, 1, 0, 0]), { equal: 2, contradicting: 0 })
    assert.deepStrictEqual(
      count(
        [
          [1, 2],
          [1, 2],
          [1, 2],
          [1, 3],
          [1, 3]
        ],
        [1, 0, 1, 0.5, 0.5]
      ),
      {
        equal: 5,
        contradicting: 3
      }
    )
    assert.deepStrictEqual(count([[1], [2]], [1, 0]), { equal: 0, contradicting: 0 })
    // The same bytes in other places are other tokens.
    assert.deepStrictEqual(count([[1, 0], [256]], [1, 0]), { equal: 0, contradicting: 0 })
  })
})
