import { assert, describe, it } from "@effect/vitest"
import * as Cells from "../../viewer/src/distribution/Cells.ts"
import * as Filter from "../../viewer/src/query/Filter.ts"

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

  it("lead to the groups of their steps that have a rollout in them, the last bin with its end", () => {
    const of = (measure: Cells.Measure, column: number, bin: number, environment: string | null = null) =>
      Cells.filterOf(distribution, measure, { column, bin }, environment)
    assert.deepInclude(of("score", 1, 3, "letters_0"), {
      environment: "letters_0",
      stepFrom: 4,
      stepTo: 6,
      value: "score",
      valueFrom: 0.5,
      valueBelow: null,
      valueTo: 1,
      sort: "best",
      isAscending: true
    })
    const low = of("length", 0, 0)
    assert.deepInclude(low, { stepFrom: 1, value: "length", valueFrom: -1, valueBelow: -0.5, valueTo: null })
    assert.strictEqual(Filter.valueWords(low), "a length from -1 to below -0.5")
    assert.isTrue(Cells.isEmpty(distribution, { column: 0, bin: 1 }))
    assert.isFalse(Cells.isEmpty(distribution, { column: 0, bin: 0 }))
    const flat = { ...distribution, low: 2, high: 2 }
    const all = Cells.filterOf(flat, "score", { column: 0, bin: 0 }, null)
    assert.deepInclude(all, { valueFrom: 2, valueBelow: null, valueTo: 2 })
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
