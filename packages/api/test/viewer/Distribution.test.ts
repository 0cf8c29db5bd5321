import { assert, describe, it } from "@effect/vitest"
import * as Cells from "../../viewer/src/distribution/Cells.ts"

const distribution = {
  low: -1,
  high: 1,
  bins: 4,
  groups: 5,
  columns: [
    { from: 1, to: 1, counts: [1, 0, 0, 3] },
    { from: 4, to: 6, counts: [0, 2, 0, 6] }
  ]
}

describe("Cells", () => {
  it("say how many rollouts of which steps have which values", () => {
    assert.strictEqual(
      Cells.words(distribution, "score", { column: 1, bin: 3 }),
      "steps 4 to 6: 6 of 8 rollouts have a score from 0.5 to 1"
    )
    assert.strictEqual(
      Cells.words(distribution, "advantage", { column: 0, bin: 0 }),
      "step 1: 1 of 4 rollouts has an advantage from -1 to -0.5"
    )
    assert.strictEqual(Cells.largestShare(distribution), 0.75)
  })

  it("lead to the groups of their steps, and of scores to those whose best is as high", () => {
    const filter = Cells.filterOf(distribution, "score", { column: 1, bin: 3 }, "letters_0")
    assert.deepInclude(filter, { environment: "letters_0", stepFrom: 4, stepTo: 6, sort: "best", isAscending: true })
    assert.isBelow(filter.bestFrom!, 0.5)
    assert.closeTo(filter.bestFrom!, 0.5, 1e-6)
    assert.isNull(Cells.filterOf(distribution, "score", { column: 0, bin: 0 }, null).bestFrom)
    assert.isNull(Cells.filterOf(distribution, "score", { column: 0, bin: 2 }, null).bestFrom)
    assert.deepInclude(Cells.filterOf(distribution, "length", { column: 0, bin: 0 }, null), {
      stepFrom: 1,
      stepTo: 1,
      sort: "length",
      isAscending: true
    })
  })

  it("are walked by arrow keys, and end at the edges", () => {
    assert.deepStrictEqual(Cells.moved(distribution, { column: 0, bin: 3 }, "ArrowUp"), { column: 0, bin: 3 })
    assert.deepStrictEqual(Cells.moved(distribution, { column: 0, bin: 3 }, "ArrowRight"), { column: 1, bin: 3 })
    assert.deepStrictEqual(Cells.moved(distribution, { column: 1, bin: 3 }, "Home"), { column: 0, bin: 3 })
    assert.isUndefined(Cells.moved(distribution, { column: 1, bin: 3 }, "x"))
  })

  it("are saved as rows, without those that nothing is in", () => {
    assert.deepStrictEqual(Cells.table(distribution).rows, [
      [1, 1, -1, -0.5, 1],
      [1, 1, 0.5, 1, 3],
      [4, 6, -0.5, 0, 2],
      [4, 6, 0.5, 1, 6]
    ])
  })
})
