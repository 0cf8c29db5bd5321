import { assert, describe, it } from "@effect/vitest"
import { scalesOf } from "../../viewer/src/groups/list/ScoreStrip.tsx"

const rows = (...scores: ReadonlyArray<ReadonlyArray<number>>) => scores.map((scores) => ({ scores }))

describe("scalesOf", () => {
  it("lays right and wrong, and what lies between -1 and 1, on one scale", () => {
    const all = rows([0, 0.5], [0, 0], [1, 0.25])
    assert.deepStrictEqual(all.map(scalesOf(all)), [
      { low: 0, high: 1 },
      { low: 0, high: 1 },
      { low: 0, high: 1 }
    ])
    const signed = rows([-0.5, 0.5], [1])
    assert.deepStrictEqual(signed.map(scalesOf(signed)), [
      { low: -1, high: 1 },
      { low: -1, high: 1 }
    ])
  })

  it("gives each group a scale of its own where ranges differ", () => {
    const all = rows([250, 100], [0.5, 0.25], [-3, 6])
    assert.deepStrictEqual(all.map(scalesOf(all)), [
      { low: 0, high: 250 },
      { low: 0, high: 0.5 },
      { low: -3, high: 6 }
    ])
  })
})
