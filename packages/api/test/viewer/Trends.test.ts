import { assert, describe, it } from "@effect/vitest"
import { headline } from "../../viewer/src/evaluation/Figures.tsx"
import * as Trends from "../../viewer/src/evaluation/Trends.tsx"

const row = (name: string, step: number | null, at: number, figures: { readonly [name: string]: number }) => ({
  name,
  step,
  at,
  figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [`eval/${name}`, value]))
})

describe("the trend of a suite over a run", () => {
  it("has the share correct by step, and the last evaluation of a step", () => {
    const rows = [
      row("sums", 40, 4, { percent_correct: 0.5, mean_score: 9 }),
      row("sums", 0, 1, { percent_correct: 0.1 }),
      row("sums", 40, 2, { percent_correct: 0.2 }),
      row("sums", 20, 3, { percent_correct: 0.3 })
    ]
    assert.deepStrictEqual(Trends.of(rows), [{ name: "sums", isShare: true, values: [0.1, 0.3, 0.5] }])
  })

  it("has mean scores where an evaluation has no share, and none of a single step or without one", () => {
    const rows = [
      row("essays", 0, 1, { mean_score: 2 }),
      row("essays", 10, 2, { mean_score: 3, percent_correct: 1 }),
      row("once", 5, 3, { percent_correct: 1 }),
      row("no step", null, 4, { percent_correct: 1 }),
      row("no step", null, 5, { percent_correct: 1 })
    ]
    assert.deepStrictEqual(Trends.of(rows), [{ name: "essays", isShare: false, values: [2, 3] }])
  })
})

describe("the headline of a comparison", () => {
  it("has both shares, and their difference with half its interval", () => {
    assert.strictEqual(
      headline({ a: 0.11, b: 0.645, value: 0.535, interval: [0.455, 0.615] }),
      "11.0% → 64.5%, +53.5 ± 8.0 points"
    )
    assert.strictEqual(headline({ a: 0.5, b: 0.25, value: -0.25 }), "50.0% → 25.0%, −25.0 points")
  })
})
