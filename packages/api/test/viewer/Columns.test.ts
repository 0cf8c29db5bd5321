import { assert, describe, it } from "@effect/vitest"
import { historyOf } from "../../viewer/src/groups/list/ItemHistory.tsx"
import * as Columns from "../../viewer/src/groups/list/useColumns.ts"

type Row = Parameters<typeof Columns.select>[0][number]

const row: Row = {
  step: null,
  environment: "math",
  state: "queued",
  figures: null
}
const wide = { isNarrow: false, isPlain: false, sorted: false }

const shown = (rows: ReadonlyArray<Row>, choices: Columns.Choices = {}, place = wide) => [
  ...Columns.select(rows, choices, place)
]

describe("columns of the group list", () => {
  it("are those that differ between rows", () => {
    assert.deepStrictEqual(shown([row, { ...row, step: 3 }]), ["step", "mean", "tokens", "created_at"])
    assert.deepStrictEqual(shown([row, { ...row, environment: "code", state: "leased" }]), [
      "environment",
      "mean",
      "tokens",
      "state",
      "created_at"
    ])
    assert.deepStrictEqual(shown([row, row]), ["mean", "tokens", "created_at"])
  })

  it("are all that a single row has", () => {
    assert.deepStrictEqual(shown([row]), ["environment", "mean", "tokens", "state", "created_at"])
  })

  it("are those that the reader chose, where the groups have them", () => {
    const choices = { environment: true, mean: false }
    assert.deepStrictEqual(shown([row, row], choices), ["environment", "tokens", "created_at"])
    assert.deepStrictEqual(shown([row, row], choices, { ...wide, isPlain: true }), ["tokens", "created_at"])
  })

  it("are fewer on a narrow page, but always the one of the order", () => {
    const narrow = { ...wide, isNarrow: true }
    assert.deepStrictEqual(shown([row, row], {}, narrow), ["mean", "created_at"])
    assert.deepStrictEqual(shown([row, row], { tokens: false }, { ...narrow, sorted: true }), [
      "mean",
      "tokens",
      "created_at"
    ])
  })
})

describe("the history of an item", () => {
  it("has the mean scores from the oldest group to the newest, whatever the order of the list", () => {
    const rows = [
      { id: "10", created_at: 2, scores: [1, 1] },
      { id: "9", created_at: 2, scores: [0, 1] },
      { id: "12", created_at: 3, scores: [] },
      { id: "2", created_at: 1, scores: [0, 0] }
    ]
    assert.deepStrictEqual([...historyOf(rows)], [0, 0.5, 1])
    assert.deepStrictEqual([...historyOf(rows.toReversed())], [0, 0.5, 1])
  })
})
