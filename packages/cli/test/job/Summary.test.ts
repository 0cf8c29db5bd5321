import { assert, describe, it } from "@effect/vitest"
import * as Summary from "../../src/job/Summary.ts"
import * as Tally from "../../src/job/Tally.ts"

describe("Summary", () => {
  it("tells the score from a component of that name", () => {
    const tally = Tally.ofGroup({
      scores: [1.5, 1.5],
      rewards: [
        { score: 1, brief: 0.5 },
        { score: 1, brief: 0.5 }
      ],
      trainedTokens: 1,
      tokens: 1
    })
    const figures = new Map(Summary.figures(tally))
    assert.strictEqual(figures.get("mean score"), "1.5000")
    assert.strictEqual(figures.get("mean reward/score"), "1.0000")
    assert.strictEqual(figures.get("mean brief"), "0.5000")
  })
})
