/**
 * Answers and verdicts that the original's own helpers gave (fixtures/functions.json), and where ours differ from them
 * on purpose.
 */
import { assert, describe, it } from "@effect/vitest"
import { ChoiceAnswer, MathAnswer, NumberAnswer } from "@atropos/envs"
import functions from "../../../core/test/fixtures/functions.json" with { type: "json" }

const choices = ["Tom Holland", "Zendaya", "Benedict Cumberbatch", "Jacob Batalon"]

describe("the original's multiple-choice answers", () => {
  /** Two letters in the tag: the original falls back to whichever stands alone first, which rewards listing letters. */
  const ambiguous = "<answer>A is better than B</answer>"

  for (const { fallback, text, with_choices: recorded } of functions.mcqa) {
    const [label] = recorded
    const expected = label ?? (text === ambiguous || typeof fallback === "string" ? null : (fallback?.[0] ?? null))
    it(`reads ${JSON.stringify(text)} as ${expected ?? "no choice"}`, () => {
      assert.strictEqual(ChoiceAnswer.extract(text, choices)?.label ?? null, expected)
    })
  }

  it("never picks a letter at random where the original does", () => {
    const random = functions.mcqa.filter(({ fallback }) => fallback === "nondeterministic")
    assert.isAtLeast(random.length, 2)
    const picks = random.map(({ text }) => ChoiceAnswer.extract(text, 4))
    assert.isTrue(picks.every((pick) => pick === undefined))
  })

  for (const { n, result, text } of functions.number) {
    it(`reads ${JSON.stringify(text)} as number ${result[0]} of ${n}`, () => {
      const labels = Array.from({ length: n }, (_, i) => String(i + 1))
      assert.strictEqual(
        ChoiceAnswer.extractLabel(text, labels)?.label ?? null,
        result[0] === null ? null : String(result[0])
      )
    })
  }
})

describe("the original's comparison of mathematical texts", () => {
  for (const { equal, gold, pred } of functions.math_strings) {
    // Equal integer parts are not equality, and a product is one however it is written.
    const isEqual = pred === "3.7" ? false : pred === String.raw`a\cdot b` ? true : equal
    it(`${JSON.stringify(pred)} ${isEqual ? "equals" : "does not equal"} ${JSON.stringify(gold)}`, async () => {
      const { load } = await import("../../src/verify/math/Latex.ts")
      assert.strictEqual(MathAnswer.equivalent(gold, pred, await load()), isEqual)
    })
  }

  it("3.7 is not 3.2", () => {
    assert.isFalse(NumberAnswer.equivalent("3.2", "3.7"))
    assert.isFalse(MathAnswer.decide("3.2", "3.7"))
  })
})

describe("the original's boxed answers", () => {
  for (const { first, text } of functions.boxed) {
    it(`finds ${first[0]} in ${text}`, () => {
      assert.strictEqual(MathAnswer.extract(text, MathAnswer.accuracyOptions) ?? null, first[0])
    })
  }
})
