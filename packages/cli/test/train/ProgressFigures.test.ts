import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as ProgressFigures from "../../src/train/ProgressFigures.ts"
import * as StepSummary from "../../src/train/StepSummary.ts"
import * as Curve from "../../src/up/Curve.ts"
import { step } from "./Steps.ts"

describe("Training", () => {
  it.prop(
    "tells the tokens of the steps shown by the time they took, whatever single steps did",
    [
      Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))).check(
        Schema.isBetweenLength(1, 30)
      )
    ],
    ([seconds]) => {
      const shown = ProgressFigures.make()
      for (const [index, stepSeconds] of seconds.entries()) shown.add(step(index + 1, { stepSeconds }))
      const total = seconds.reduce((sum, one) => sum + one, 0)
      assert.include(shown.detail(), `${Math.round((100 * seconds.length) / total)} tokens/s`)
    }
  )

  it("is of the steps since it was last shown, and of ten at the least", () => {
    const shown = ProgressFigures.make()
    for (let number = 1; number <= 20; number++) shown.add(step(number, { rewardMean: 0 }))
    assert.include(shown.detail(), "reward 0.000")
    for (let number = 21; number <= 25; number++) shown.add(step(number, { rewardMean: 1 }))
    // Five of them are new.
    assert.include(shown.detail(), "reward 0.500")
    for (let number = 26; number <= 60; number++) shown.add(step(number, { rewardMean: 1 }))
    assert.include(shown.detail(), "reward 1.000")
  })

  it("says of a policy its entropy and how many groups teach nothing, of examples the loss", () => {
    assert.strictEqual(
      ProgressFigures.detailOf([step(1), step(2, { entropy: 0.59, kl: 0.01, clippedFraction: 0.2 })]),
      "reward 0.500 | entropy 0.600 | no-signal groups 25% | kl 0.0100 | clipped 10% | staleness 0.0 | 1,000 tokens/s"
    )
    assert.match(
      ProgressFigures.detailOf([step(1, { solvedFraction: 0.25 }), step(2, { solvedFraction: 0.5 }), step(3)]),
      /^reward 0\.500 \| solved 38% \| entropy/
    )
    // By scores that are in doubt nothing is solved.
    assert.include(ProgressFigures.detailOf([step(1, { solvedFraction: 1 })], true), "scored as solved 100%")
    const { entropy: _, ratioMean: __, ...examples } = step(1, { loss: 1.25 })
    assert.match(ProgressFigures.detailOf([examples]), /^reward 0\.500 \| loss 1\.2500 \| staleness/)
  })

  it("says which steps changed nothing, and why", () => {
    const idle = step(2, { skipped: "nothingToTrain", constantGroups: 4 })
    assert.include(ProgressFigures.detailOf([step(1), idle]), "1 of the last 2 steps skipped (identical scores)")
    assert.include(ProgressFigures.detailOf([idle]), "| skipped (identical scores)")
    const broken = step(3, { skipped: "nonFinite", loss: Number.NaN })
    assert.include(
      ProgressFigures.detailOf([step(1), broken]),
      "1 of the last 2 steps skipped (NaN or infinite loss or gradient)"
    )
  })
})

describe("the rewards of a run summed up", () => {
  it("are means of windows that do not overlap, where ten steps are too many", () => {
    const rewards = [0.1, 0.2, 0.3, 0.6, 0.5, 0.4]
    assert.strictEqual(Curve.windowOf(rewards), 3)
    assert.closeTo(Curve.early(rewards), 0.2, 1e-9)
    assert.closeTo(Curve.recent(rewards), 0.5, 1e-9)
    assert.deepStrictEqual(
      [1, 2, 3, 4, 19, 20, 400].map((length) => Curve.windowOf(Array.from({ length }, () => 0))),
      [1, 1, 1, 2, 9, 10, 10]
    )
    assert.deepStrictEqual(Curve.best([0.5]), { value: 0.5, step: 1 })
  })

  it.prop(
    "have as best the best mean of a window",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })))],
    ([rewards]) => {
      const { step, value } = Curve.best(rewards)
      if (rewards.length === 0) return
      const window = Curve.windowOf(rewards)
      const mean = (end: number) => rewards.slice(end - window, end).reduce((a, b) => a + b, 0) / window
      const ends = Array.from({ length: rewards.length - window + 1 }, (_, at) => at + window)
      assert.closeTo(value, Math.max(...ends.map(mean)), 1e-9)
      assert.closeTo(mean(step), value, 1e-9)
    }
  )

  it("sums up the steps that changed nothing, and why, and means of steps as its start and end", () => {
    const summary = StepSummary.make()
    for (let number = 1; number <= 4; number++) summary.add(step(number, { rewardMean: number / 10 }))
    assert.deepStrictEqual(summary.lines(), [
      ["steps", "4"],
      ["mean reward", "0.150 at the start, 0.350 at the end (means of 2 steps)"]
    ])
    const supervised = StepSummary.make()
    for (const loss of [0.5, 0.25]) {
      const { ratioMean: _, ...examples } = step(1 / loss, { loss, rewardMean: 1 })
      supervised.add(examples)
    }
    assert.deepInclude(supervised.lines(), ["loss", "0.500 at the start, 0.250 at the end (one step each)"])
    for (const number of [5, 6, 8]) summary.add(step(number, { skipped: "nothingToTrain", staleDropped: 8 }))
    summary.add(step(7, { skipped: "nonFinite" }))
    assert.deepInclude(summary.lines(), [
      "skipped",
      "4 of 8 steps (all sequences too old: steps 5-6, 8; NaN or infinite loss or gradient: step 7)"
    ])
    // Repeated after an engine lost its weights.
    summary.add(step(7))
    assert.include(summary.lines()[1]![1], "3 of 8 steps")
    const idle = StepSummary.make()
    idle.add(step(13, { skipped: "nothingToTrain", staleDropped: 8 }))
    assert.deepInclude(idle.lines(), [
      "skipped",
      "1 of 1 steps (all sequences too old: step 13); this run changed no weights"
    ])
  })
})
