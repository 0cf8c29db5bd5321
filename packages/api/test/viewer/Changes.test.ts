import { assert, describe, it } from "@effect/vitest"
import * as Changes from "../../viewer/src/metrics/Changes.ts"
import type * as Wire from "../../viewer/src/source/Wire.ts"

const reverified: Wire.Reverified = {
  environment: "words",
  same: 7,
  rows: [
    { groups: ["3"], item: "a", label: "one", before: [1, 0], after: [0, 1], components: {} },
    {
      groups: ["5"],
      item: "b",
      label: "two",
      before: [0, 0.5],
      after: [0.25, 0.5],
      components: {
        said: [
          [0, null],
          [1, null]
        ]
      }
    },
    { groups: ["6"], item: null, reason: "two items ask this" },
    { groups: ["8", "9"], item: "c", label: "three", before: [1, 1], after: [1, 0], components: {} }
  ]
}
const notifications = reverified.rows.map(Changes.of)
const groups = (filter: Changes.Filter) => Changes.select(notifications, filter).map(({ group }) => group)

describe("Changes", () => {
  it("put what changed most first, both ways, and keep apart what could not be scored", () => {
    assert.deepStrictEqual(groups("changed"), ["3", "8", "5"])
    assert.deepStrictEqual(groups("higher"), ["5"])
    assert.deepStrictEqual(groups("lower"), ["8"])
    assert.deepStrictEqual(groups("not scored"), ["6"])
  })

  it("say of each score which rollout has it: of one group, or of the groups that samples are", () => {
    assert.deepStrictEqual(notifications[0]?.places, [
      { group: "3", rollout: 0 },
      { group: "3", rollout: 1 }
    ])
    assert.deepStrictEqual(notifications[3]?.places, [
      { group: "8", rollout: 0 },
      { group: "9", rollout: 0 }
    ])
    assert.deepStrictEqual(Changes.scoresOf(reverified, "3"), [0, 1])
    assert.deepStrictEqual(Changes.scoresOf(reverified, "9"), [0])
    assert.isNull(Changes.scoresOf(reverified, "6"))
    assert.isNull(Changes.scoresOf(reverified, "4"))
  })

  it("tell all of it in a sentence", () => {
    assert.strictEqual(
      Changes.describe(reverified),
      "3 of 11 changed with the current words. Their mean score: 0.583 → 0.458. 1 could not be scored."
    )
    assert.deepStrictEqual(notifications[1]?.components, [{ name: "said", before: 0, after: 1 }])
  })
})
