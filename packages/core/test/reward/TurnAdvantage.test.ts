import { assert, describe, it } from "@effect/vitest"
import { Advantage } from "@atropos/core"
import { Result, Schema } from "effect"
import functions from "../fixtures/functions.json" with { type: "json" }

const closeTo = (actual: ReadonlyArray<number>, expected: ReadonlyArray<number>) => {
  assert.strictEqual(actual.length, expected.length)
  actual.forEach((value, index) => assert.closeTo(value, expected[index]!, 1e-5))
}

describe("Advantage", () => {
  it("replays the recorded process-supervision advantages", () => {
    for (const { advantages, gamma, rewards } of functions.advantages) {
      const result = Advantage.processSupervision(rewards, gamma === null ? {} : { discount: gamma })
      if (Array.isArray(advantages)) {
        const ours = Result.getOrThrow(result)
        ours.forEach((steps, index) => closeTo(steps, advantages[index]!))
      } else {
        assert.isTrue(Result.isFailure(result), JSON.stringify(rewards))
      }
    }
  })

  it("replays the recorded means and variances", () => {
    for (const { rewards, stats } of functions.advantages) {
      const ours = Advantage.stats(rewards)!
      closeTo([ours.mean, ours.variance], [stats.mean, stats.var])
    }
    assert.isUndefined(Advantage.stats([]))
  })

  it("replays the recorded best-of-n choices", () => {
    for (const { index, primary, primary_higher, secondary, secondary_lower } of functions.best_of_n) {
      const options = { primaryHigherIsBetter: primary_higher, secondaryLowerIsBetter: secondary_lower }
      assert.strictEqual(Advantage.bestIndex(primary, secondary, options), index)
    }
  })

  it("discounts later rewards", () => {
    assert.deepStrictEqual(
      Advantage.discountedReturns([1, 1, 1], 0.9).map((one) => Math.round(one * 1e6) / 1e6),
      [2.71, 1.9, 1]
    )
    assert.deepStrictEqual(Advantage.discountedReturns([3, 2, 1], 0), [3, 2, 1])
  })

  it.prop(
    "group-relative advantages sum to zero",
    [Schema.Array(Schema.Natural).check(Schema.isMinLength(1))],
    ([rewards]) => {
      const advantages = Advantage.groupRelative(rewards, { scale: "none" })
      const scale = Math.max(1, ...rewards)
      assert.closeTo(advantages.reduce((sum, one) => sum + one, 0) / scale, 0, 1e-6)
    }
  )

  it("standardises turn rewards over the rollouts at the same turn and adds the outcome's share", () => {
    // Turn 0: 1, 0 is mean 0.5, deviation 0.5; turn 1: 1 and a rollout that has ended, 0; outcomes 2, 0.
    const advantages = Advantage.turnLevel([[1, 1], [0]], [2, 0], { outcomeWeight: 0.5 })
    assert.deepStrictEqual(advantages, [[1.5, 1.5], [-1.5]])
    // What does not vary says nothing, and rounding makes no deviation of it.
    assert.deepStrictEqual(
      Advantage.turnLevel([[0.1], [0.1], [0.1]], [1, 1, 1])
        .flat()
        .map((one) => Math.abs(one) < 1e-15),
      [true, true, true]
    )
    assert.deepStrictEqual(Advantage.turnLevel([], []), [])
  })

  it.prop(
    "turn-level advantages keep the shape, and those of turns that all rollouts have sum to zero",
    [Schema.Array(Schema.Tuple([Schema.Natural, Schema.Array(Schema.Natural)])).check(Schema.isMinLength(1))],
    ([rollouts]) => {
      const rewards = rollouts.map(([, turns]) => turns)
      const advantages = Advantage.turnLevel(
        rewards,
        rollouts.map(([outcome]) => outcome)
      )
      assert.deepStrictEqual(
        advantages.map((one) => one.length),
        rewards.map((one) => one.length)
      )
      for (let turn = 0; rewards.every((turns) => turns.length > turn); turn++) {
        assert.closeTo(
          advantages.reduce((sum, turns) => sum + turns[turn]!, 0),
          0,
          1e-6
        )
      }
    }
  )

  it("gives each answer's tokens the advantage of its turn, and everything else none", () => {
    const mask = Uint8Array.of(0, 1, 1, 0, 0, 1, 0)
    assert.deepStrictEqual(Result.getOrThrow(Advantage.overTurns(mask, [1, -2])), Float32Array.of(0, 1, 1, 0, 0, -2, 0))
    assert.deepStrictEqual(Result.getOrThrow(Advantage.overTurns(Uint8Array.of(1, 0), [4])), Float32Array.of(4, 0))
    const { message } = Result.getOrThrow(Result.flip(Advantage.overTurns(mask, [1])))
    assert.match(message, /2 trained spans but 1 advantages/)
  })

  it("compares alternatives of a step by their reward and by what the next state is worth", () => {
    const steps = [
      { reward: 1, nextValue: 0 },
      { reward: 0, nextValue: 0.5 }
    ]
    assert.deepStrictEqual(Advantage.stepwise(steps, 0.25), [0.75, 0.25])
    assert.deepStrictEqual(Advantage.stepwise(steps, 0.25, { discount: 0 }), [0.75, -0.25])
  })
})
