import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Cursor from "../../../src/rollout/state/Cursor.ts"
import { groupKey } from "../../../src/rollout/submit/Delivery.ts"
import { isEvaluationDue } from "../../../src/rollout/TrainerStep.ts"

describe("Cursor", () => {
  it("moves its frontier over what is finished, and keeps the rest as runs", () => {
    const cursor = Cursor.make()
    for (const index of [0, 1, 2, 3, 4, 5]) cursor.hold(index)
    for (const index of [1, 3, 4]) cursor.release(index)
    assert.deepStrictEqual(cursor.save(), {
      frontier: 0,
      finished: [
        [1, 1],
        [3, 4]
      ]
    })
    cursor.release(0)
    assert.strictEqual(cursor.frontier(), 2)
    cursor.release(2)
    assert.deepStrictEqual(cursor.save(), { frontier: 5, finished: [] })
  })

  it("finishes an item when the last hold is released", () => {
    const cursor = Cursor.make()
    cursor.hold(0)
    cursor.hold(0)
    cursor.release(0)
    assert.isFalse(cursor.isFinished(0))
    cursor.release(0)
    assert.isTrue(cursor.isFinished(0))
  })

  it.prop(
    "restored from what it saved, it knows the same items as finished",
    [Schema.Array(Schema.Natural.check(Schema.isLessThan(60)))],
    ([finished]) => {
      const cursor = Cursor.make()
      for (const index of finished) cursor.hold(index)
      for (const index of finished) cursor.release(index)
      const restored = Cursor.make(cursor.save())
      for (let index = 0; index < 60; index++) {
        assert.strictEqual(restored.isFinished(index), new Set(finished).has(index))
      }
      assert.deepStrictEqual(restored.save(), cursor.save())
    }
  )
})

describe("EvaluationSchedule", () => {
  it("fires at every multiple reached or passed, for N = 1 and over jumps too", () => {
    assert.isTrue(isEvaluationDue(0, 1, 1))
    assert.isTrue(isEvaluationDue(99, 100, 100))
    assert.isFalse(isEvaluationDue(100, 199, 100))
    assert.isTrue(isEvaluationDue(95, 305, 100))
    assert.isFalse(isEvaluationDue(5, 5, 5))
    assert.isFalse(isEvaluationDue(0, 1000, 0))
    assert.isFalse(isEvaluationDue(0, 1000, -1))
  })
})

describe("groupKey", () => {
  it("is a UUID, the same for the same place and another for any other", () => {
    const key = groupKey("lineage", "12.0", 1)
    assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.strictEqual(groupKey("lineage", "12.0", 1), key)
    const others = [groupKey("other", "12.0", 1), groupKey("lineage", "12", 1), groupKey("lineage", "12.0", 2)]
    assert.strictEqual(new Set([key, ...others]).size, 4)
  })
})
