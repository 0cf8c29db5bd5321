import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Paired from "../../../core/src/evaluation/Paired.ts"
import type { Sample } from "../../src/evaluate/Samples.ts"
import * as SuiteFigures from "../../src/evaluate/SuiteFigures.ts"

const z2 = 1.959963984540054 ** 2
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))

describe("Paired", () => {
  it("makes an interval of a width where nothing changed: ± z² / (n + z²)", () => {
    for (const n of [1, 10, 200]) {
      const [lower, upper] = Paired.tango(0, 0, n)
      assert.approximately(lower, -z2 / (n + z2), 1e-9)
      assert.approximately(upper, z2 / (n + z2), 1e-9)
    }
  })

  it.prop(
    "holds the difference, is within -1 and 1, and turns with the two",
    [Count, Count, Count],
    ([better, worse, same]) => {
      const n = better + worse + same + 1
      const [lower, upper] = Paired.tango(better, worse, n)
      assert.isTrue(-1 <= lower && lower <= (better - worse) / n && (better - worse) / n <= upper && upper <= 1)
      const [turnedLower, turnedUpper] = Paired.tango(worse, better, n)
      assert.approximately(turnedLower, -upper, 1e-9)
      assert.approximately(turnedUpper, -lower, 1e-9)
    }
  )

  it("tests changes exactly", () => {
    assert.approximately(Paired.mcnemar(3, 1), 0.625, 1e-12)
    assert.approximately(Paired.mcnemar(0, 5), 0.0625, 1e-12)
    assert.strictEqual(Paired.mcnemar(4, 4), 1)
    assert.strictEqual(Paired.mcnemar(0, 0), 1)
    assert.isBelow(Paired.mcnemar(2000, 1000), 1e-70)
  })
})

const answer = (item: number, correct: boolean, parsed: string | null, more: Partial<Sample> = {}): Sample => ({
  item,
  id: String(item),
  score: correct ? 1 : 0,
  rewards: { accuracy: correct ? 1 : 0 },
  correct,
  parsed,
  ...more
})

describe("SuiteFigures", () => {
  it("takes the majority of answers: right ones are one answer, unread ones none, the first of equals wins", () => {
    const right = (parsed: string) => answer(1, true, parsed)
    const wrong = (parsed: string | null) => answer(1, false, parsed)
    assert.isTrue(SuiteFigures.isMajorityRight([right("1/2"), wrong("3"), right("0.5")]))
    assert.isFalse(SuiteFigures.isMajorityRight([wrong("3"), right("1/2"), wrong(" 3 ")]))
    assert.isTrue(SuiteFigures.isMajorityRight([right("1"), wrong(null), wrong(null), wrong("4")]))
    assert.isFalse(SuiteFigures.isMajorityRight([wrong("4"), right("1")]))
    assert.isFalse(SuiteFigures.isMajorityRight([wrong(null)]))
  })

  it("counts instructions over all prompts where samples say their weights", () => {
    const one = { rewards: { prompt: 0, instruction: 0.5 }, weights: { instruction: 2 } }
    const other = { rewards: { prompt: 1, instruction: 1 }, weights: { instruction: 1 } }
    const { scores } = SuiteFigures.of([answer(1, false, "", one), answer(2, true, "", other)], { main: "prompt" })
    assert.approximately(scores["instruction"]?.value ?? 0, 2 / 3, 1e-12)
    assert.strictEqual(scores["instruction"]?.count, 3)
    assert.strictEqual(scores["prompt"]?.value, 0.5)
  })

  it("makes the interval of weighted answers no narrower than that of as many answers", () => {
    const all = [3, 1, 2].map((weight, item) =>
      answer(item, true, "", { rewards: { won: 1 }, weights: { won: weight } })
    )
    const { won } = SuiteFigures.of(all, { main: "won" }).scores
    // Kish: 6² / (9 + 1 + 4) trials; all won: n / (n + z²).
    const trials = 36 / 14
    assert.approximately(won?.interval?.[0] ?? 0, trials / (trials + z2), 1e-9)
    assert.deepInclude(won, { value: 1, count: 6 })
  })

  it("gives grades beyond 1 Student's interval, and shares Wilson's", () => {
    const grades = [4, 8].map((grade, item) => answer(item, false, null, { rewards: { grade } }))
    const { scores } = SuiteFigures.of(grades, { main: "grade" })
    assert.deepInclude(scores["grade"], { value: 6, count: 2 })
    assert.isAbove(scores["grade"]?.interval?.[1] ?? 0, 8)
    const all = SuiteFigures.of([answer(1, true, "a"), answer(2, true, "b")], { main: "accuracy" })
    assert.deepStrictEqual(all.scores["accuracy"]?.interval?.[1], 1)
    assert.isBelow(all.scores["accuracy"]?.interval?.[0] ?? 1, 0.5)
  })
})

describe("Correlation", () => {
  it("knows order, ties and what does not vary", () => {
    const { kendall, pearson, spearman } = SuiteFigures.correlations([
      [1, 1],
      [2, 8],
      [3, 27],
      [3, 64]
    ])
    assert.approximately(spearman ?? 0, 0.9486832980505138, 1e-12)
    assert.approximately(kendall ?? 0, 5 / Math.sqrt(5 * 6), 1e-12)
    assert.isTrue((pearson ?? 0) > 0.8 && (pearson ?? 0) < 0.95)
    assert.strictEqual(
      SuiteFigures.correlations([
        [1, 1],
        [1, 2]
      ])["pearson"],
      0
    )
  })
})
