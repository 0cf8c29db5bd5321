import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as EvaluationRun from "../../src/rollout/EvaluationRun.ts"
import * as RolloutMetrics from "../../src/rollout/RolloutMetrics.ts"
import * as RolloutTable from "../../src/rollout/RolloutTable.ts"
import type { ScoredGroup } from "../../src/trajectory/ScoredGroup.ts"
import { group, trajectory } from "./RolloutTest.ts"

const scored = (scores: ReadonlyArray<number>, further: Partial<ScoredGroup> = {}): ScoredGroup => ({
  ...group(1, scores.length),
  scores: Float64Array.from(scores),
  ...further
})

describe("RolloutMetrics", () => {
  it("tells how scores are spread, over the groups that were accepted", () => {
    const metrics = RolloutMetrics.make("numbers")
    metrics.kept(scored([0, 1, 2, 3, 4, 5]))
    metrics.kept(scored([6, 7, 8, 9, 10]))
    const figures = metrics.take()
    // 0, 1, …, 10: variance (11² - 1) / 12 = 10.
    assert.deepInclude(figures, {
      "train/scores_mean": 5,
      "train/scores_min": 0,
      "train/scores_p10": 1,
      "train/scores_p50": 5,
      "train/scores_p90": 9,
      "train/scores_max": 10
    })
    assert.closeTo(figures["train/scores_std"]!, Math.sqrt(10), 1e-12)
    assert.notProperty(metrics.take(), "train/scores_mean")
  })

  it("tells the share of rollouts that their limit cut off, dropped ones included", () => {
    const metrics = RolloutMetrics.make("numbers")
    metrics.rolledOut(scored([0, 1], { overrides: [{ finish_reason: "length" }, {}] }), { maxTokenLength: 100 })
    // Sequences of four tokens.
    metrics.rolledOut(scored([1, 1, 1]), { maxTokenLength: 4 })
    metrics.rolledOut(scored([1, 1, 1]), { maxTokenLength: 0 })
    assert.strictEqual(metrics.take()["train/truncated_fraction"], 4 / 8)
  })

  it("tells the share of rollouts that count as solved, dropped ones included, of those of which it is said", () => {
    const metrics = RolloutMetrics.make("numbers")
    const limits = { maxTokenLength: 0 }
    metrics.rolledOut(scored([1, 1, 1], { solved: [true, true, true] }), limits)
    metrics.dropped("identical_scores")
    metrics.rolledOut(scored([0, 1], { solved: [false, true] }), limits)
    metrics.rolledOut(scored([0, 1]), limits)
    assert.strictEqual(metrics.take()["train/solved_fraction"], 4 / 5)
    metrics.rolledOut(scored([0, 1]), limits)
    assert.notProperty(metrics.take(), "train/solved_fraction")
  })

  it("tells the share of attempts that failed, and of equal answers with other scores than their equals", () => {
    const metrics = RolloutMetrics.make("numbers")
    for (const outcome of ["succeeded", "failed", "timeout", "died", "given_up", "unscorable"] as const) {
      metrics.item(outcome, 1)
    }
    const tokens = [[1], [1], [2], [2], [3]].map((one) => Int32Array.from(one))
    metrics.rolledOut(scored([0, 1, 1, 1, 0], { tokens }), { maxTokenLength: 0 })
    assert.deepInclude(metrics.take(), { "train/failed_fraction": 3 / 5, "train/contradicting_fraction": 2 / 4 })
    assert.notProperty(metrics.take(), "train/failed_fraction")
  })

  it("tells what answers that say what is expected score above the others, where there are both", () => {
    const metrics = RolloutMetrics.make("numbers")
    const labels = {
      groupOverrides: { gold: ["18"] },
      overrides: ["18", "18.0", "17", null].map((parsed) => ({ parsed }))
    }
    metrics.rolledOut(scored([3, 1, 2, 0], labels), { maxTokenLength: 0 })
    metrics.rolledOut(scored([4, -6]), { maxTokenLength: 0 })
    assert.strictEqual(metrics.take()["train/expected_gain"], (2 - 1) / 10)
    metrics.rolledOut(scored([0, 0], { ...labels, overrides: [{ parsed: "18" }, { parsed: "18" }] }), {
      maxTokenLength: 0
    })
    assert.notProperty(metrics.take(), "train/expected_gain")
  })

  it("tells how stale rollouts are, of those whose version is known", () => {
    const metrics = RolloutMetrics.make("numbers")
    metrics.kept(scored([0, 1, 2, 3], { policyVersions: [5, 9, null, 12] }), 10)
    metrics.kept(scored([0, 1]), 10)
    // 5, 1 and, a trainer ahead of what the service says, 0.
    assert.deepInclude(metrics.take(), { "train/staleness_mean": 2, "train/staleness_max": 5 })
    metrics.kept(scored([0, 1], { policyVersions: [1, 1] }))
    assert.notProperty(metrics.take(), "train/staleness_mean")
  })
})

const decode = (tokens: Int32Array): string => tokens.join(" ")

describe("RolloutTable", () => {
  it.effect("keeps the first rollouts of the newest groups, as text with their scores, until it is taken", () =>
    Effect.gen(function* () {
      const table = RolloutTable.make({ groups: 2, perGroup: 1, decode })
      for (const item of [1, 2, 3]) table.add(group(item, 3))
      assert.deepStrictEqual(Option.getOrThrow(yield* table.take), {
        name: "train/rollouts",
        columns: ["text", "score"],
        rows: [
          ["2 1 2 3", 0],
          ["3 1 2 3", 0]
        ]
      })
      assert.isTrue(Option.isNone(yield* table.take))
      const all = RolloutTable.make({ groups: 2, perGroup: -1, decode })
      all.add(group(1, 3))
      assert.lengthOf(Option.getOrThrow(yield* all.take).rows, 3)
      // The original fails where a group is smaller than the number of rollouts asked for.
      const many = RolloutTable.make({ groups: 2, perGroup: 8, decode })
      many.add(group(1, 3))
      assert.lengthOf(Option.getOrThrow(yield* many.take).rows, 3)
    })
  )

  it.effect("shows the chat where nothing can decode, and nothing where none are wanted", () =>
    Effect.gen(function* () {
      const table = RolloutTable.make({ groups: 4, perGroup: 1, decode: undefined })
      table.add({ ...group(1, 1), messages: [trajectory(5, "done").messages] })
      assert.deepStrictEqual(Option.getOrThrow(yield* table.take).rows, [["user: item 5\nassistant: done", 0]])
      const none = RolloutTable.make({ groups: 0, perGroup: 1, decode: undefined })
      none.add(group(1, 1))
      assert.isTrue(Option.isNone(yield* none.take))
    })
  )
})

describe("EvaluationRun.metrics", () => {
  const outcome = Schema.Struct({ correct: Schema.Boolean, score: Schema.Finite })

  it.prop(
    "gives every estimate an interval that holds it, rates within 0 and 1",
    [Schema.NonEmptyArray(Schema.NonEmptyArray(outcome))],
    ([items]) => {
      const figures = EvaluationRun.metrics({
        items: items.map((samples, index) => ({
          item: String(index),
          id: String(index),
          trajectories: samples.map(({ correct, score }) => ({
            trajectory: trajectory(index),
            correct,
            score: score % 1000
          }))
        })),
        failures: [],
        seconds: 1
      })
      const bounded = Object.keys(figures).filter((name) => `${name}_ci_low` in figures)
      // One item tells nothing of how scores vary.
      assert.includeMembers(bounded, ["eval/percent_correct", ...(items.length > 1 ? ["eval/mean_score"] : [])])
      for (const name of bounded) {
        const [low, value, high] = [figures[`${name}_ci_low`]!, figures[name]!, figures[`${name}_ci_high`]!]
        assert.isTrue(low <= value + 1e-9 && value <= high + 1e-9, `${name}: ${low} ${value} ${high}`)
        if (name !== "eval/mean_score") assert.isTrue(low >= 0 && high <= 1)
      }
    }
  )

  it("has Wilson's interval of a rate: 8 of 10 is 0.490 to 0.943", () => {
    const items = Array.from({ length: 10 }, (_, index) => ({
      item: String(index),
      id: String(index),
      trajectories: [{ trajectory: trajectory(index), correct: index < 8, score: index < 8 ? 1 : 0 }]
    }))
    const figures = EvaluationRun.metrics({ items, failures: [], seconds: 1 })
    assert.closeTo(figures["eval/percent_correct_ci_low"]!, 0.4902, 1e-4)
    assert.closeTo(figures["eval/percent_correct_ci_high"]!, 0.9433, 1e-4)
  })
})
