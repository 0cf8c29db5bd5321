import { assert, describe, it } from "@effect/vitest"
import { ChoiceAnswer, NumberAnswer, TextAnswer } from "@atropos/envs"
import { Schema } from "effect"

describe("ChoiceAnswer.extract", () => {
  const cases: ReadonlyArray<readonly [completion: string, label: string | undefined, method?: ChoiceAnswer.Method]> = [
    ["<answer>B</answer>", "B", "tag"],
    ["<answer> (b). </answer>", "B", "tag"],
    ["<answer>The final answer is C</answer>", "C", "tag"],
    ["<answer>I think it's D.</answer>", "D", "tag"],
    ["<answer>Paris</answer>", "B", "tag"],
    ["<answer>B) Paris</answer>", "B", "tag"],
    ["<answer>it must be B here</answer>", "B", "tag"],
    ["<answer>A or B</answer>", undefined],
    ["<answer>none</answer>", undefined],
    ["<think>The answer is A.</think> The answer is B.", "B", "announced"],
    ["First I said the answer is A. The final answer is C. I hope so.", "C", "announced"],
    ["The answer is A. No: the answer is D.", "D", "announced"],
    ["Answer: **C**", "C", "announced"],
    ["so \\boxed{B}", "B", "boxed"],
    ["so \\boxed{\\text{(D)}}", "D", "boxed"],
    ["B", "B", "alone"],
    ["B. Paris is the capital.", "B", "alone"],
    ["Let us see.\n(C)\nThat is it.", "C", "alone"],
    ["It can only be option C here", "C", "stated"],
    ["Both A, and B are fine", undefined],
    ["A cat sat on Dad's mat", undefined],
    ["no idea", undefined],
    ["The best answer is: Paris.", "B", "announced"],
    ["The best answer is **Paris**, not Rome", "B", "announced"],
    ["The answer is Parisian", undefined],
    ["The best answer is a city", undefined],
    ["The best answer is: a", "A", "announced"],
    // Several at once are none.
    ["The best answer is: B or A", undefined],
    ["The best answer is: (B) and (C)", undefined],
    ["The answer is A, B, C, D", undefined],
    ["\\boxed{A, B}", undefined],
    ["The answer is B/C", undefined],
    ["The best answer is: A or B. The best answer is: B", "B"],
    ["The best answer is: B, not A", "B"],
    ["The best answer is: B, a city", "B"],
    ["The best answer is: B and that is all", "B"],
    ["", undefined]
  ]
  for (const [completion, label, method] of cases) {
    it(`reads ${JSON.stringify(completion)} as ${label ?? "no choice"}`, () => {
      const choice = ChoiceAnswer.extract(completion, ["London", "Paris", "Rome", "Oslo"])
      assert.strictEqual(choice?.label, label)
      if (method !== undefined) assert.strictEqual(choice?.method, method)
    })
  }

  it("knows only as many letters as there are choices", () => {
    assert.isUndefined(ChoiceAnswer.extract("<answer>E</answer>", 4))
    assert.strictEqual(ChoiceAnswer.extract("<answer>E</answer>", 5)?.label, "E")
  })

  it("reads numbers from 1 to n", () => {
    const numbers = Array.from({ length: 12 }, (_, i) => String(i + 1))
    assert.strictEqual(ChoiceAnswer.extractLabel("The answer is 3.", numbers.slice(0, 4))?.label, "3")
    assert.strictEqual(ChoiceAnswer.extractLabel("<answer>12</answer>", numbers)?.label, "12")
    assert.isUndefined(ChoiceAnswer.extractLabel("<answer>5</answer>", numbers.slice(0, 4)))
  })

  it("grades against the gold letter", () => {
    assert.isTrue(ChoiceAnswer.grade("b", "<answer>B</answer>", 4))
    assert.isFalse(ChoiceAnswer.grade("A", "A or B", 4))
  })
})

describe("NumberAnswer", () => {
  it("reads separators, currency and signs", () => {
    assert.isTrue(NumberAnswer.equivalent("1200.5", "$1,200.50"))
    for (const minus of "-\u2212\u2010\u2011\u2012\u2013\u2014\u2015\uff0d\ufe63\ufe58") {
      assert.isTrue(NumberAnswer.equivalent("-3", `${minus}3`), minus)
      assert.isTrue(TextAnswer.equivalent("-3", `${minus}3`), minus)
      assert.isTrue(NumberAnswer.grade("-3", `It is ${minus}3.`), minus)
      assert.isFalse(NumberAnswer.grade("3", `It is ${minus}3.`), minus)
      assert.isFalse(NumberAnswer.grade("3", `The answer is ${minus}3, in total.`), minus)
    }
    for (const [gold, said] of [
      ["25", "25%"],
      ["25%", "25"],
      ["25%", "25 %"]
    ] as const) {
      assert.isTrue(NumberAnswer.equivalent(gold, said), said)
    }
    assert.isFalse(NumberAnswer.equivalent("25", "0.25%"))
    assert.isFalse(NumberAnswer.equivalent("25%", "0.25"))
    assert.isFalse(NumberAnswer.equivalent("1200", "12,00"))
    assert.isFalse(NumberAnswer.equivalent("5", "five"))
    assert.isFalse(NumberAnswer.equivalent("", ""))
  })

  it("is exact by default", () => {
    assert.isFalse(NumberAnswer.equivalent("3.7", "3.2"))
    assert.isFalse(NumberAnswer.equivalent("100000000000000000000", "100000000000000000001"))
    assert.isFalse(NumberAnswer.equivalent("0.1", "0.1000000000000000000001"))
    const long = "7".repeat(5_000)
    assert.isTrue(NumberAnswer.equivalent(long, long))
    assert.isFalse(NumberAnswer.equivalent(long, `${long.slice(1)}8`))
  })

  it("allows what the tolerance allows", () => {
    assert.isTrue(NumberAnswer.equivalent("100", "101", { relative: 0.01 }))
    assert.isFalse(NumberAnswer.equivalent("100", "101.1", { relative: 0.01 }))
    assert.isTrue(NumberAnswer.equivalent("0", "0.0000005", { absolute: 1e-6 }))
  })

  it("grades the announced or last number", () => {
    assert.isTrue(NumberAnswer.grade("42", "From 6 and 7 we get \\boxed{42} after 3 steps"))
    assert.isTrue(NumberAnswer.grade("1200.5", "<think>7</think> It costs $1,200.50."))
    assert.isFalse(NumberAnswer.grade("42", "no number here"))
    assert.isTrue(NumberAnswer.grade("42", "\\boxed{42}. This answer is correct, unlike 41."))
    assert.isTrue(NumberAnswer.grade("1000", "\\boxed{x = 999 + 1 = 1{,}000 \\text{ km}}"))
  })

  it("takes no number of several, and none that is denied", () => {
    for (const said of [
      "\\boxed{41 \\text{ or } 42}",
      "\\boxed{41, 42}",
      "\\boxed{\\frac{1}{42}}",
      "\\boxed{\\text{not } 42}",
      "\\boxed{\\neq 42}",
      "\\boxed{41} The answer is surely not the number 42",
      "The answer is 41 or maybe 42",
      "The answer is certainly not 42",
      "It is not 42",
      "\\boxed{}, 42"
    ]) {
      assert.isFalse(NumberAnswer.grade("42", said), said)
    }
  })

  it.prop("equals itself and no neighbour", [Schema.Int], ([n]) => {
    const text = BigInt(n).toString()
    assert.isTrue(NumberAnswer.equivalent(text, text))
    assert.isFalse(NumberAnswer.equivalent(text, (BigInt(n) + 1n).toString()))
  })
})

describe("TextAnswer", () => {
  it("ignores case, punctuation, articles and spacing", () => {
    assert.isTrue(TextAnswer.equivalent("The Eiffel Tower", "eiffel-tower!"))
    assert.isFalse(TextAnswer.equivalent("Eiffel Tower", "Eiffel Towers"))
    assert.isFalse(TextAnswer.equivalent("the", ""))
  })

  it("takes numbers for numbers: signs, points and separators are not punctuation", () => {
    for (const said of ["-98559", " -98,559. ", "−98559", "**-98559**", "(-98559)", "-98559.0", "-98 559"]) {
      assert.isTrue(TextAnswer.equivalent("-98559", said), said)
    }
    for (const said of ["98559", "+98559", "- 98559 or so", "-985 59", "-9855.9", ""]) {
      assert.isFalse(TextAnswer.equivalent("-98559", said), said)
    }
    for (const [gold, said] of [
      ["1.5", "1 5"],
      ["1.5", "1-5"],
      ["15", "1.5"],
      ["5", "-5"],
      ["12", "12 13"],
      ["15", "1 5"],
      ["12", "1,2"],
      ["12", "twelve"]
    ] as const) {
      assert.isFalse(TextAnswer.equivalent(gold, said), `${gold}: ${said}`)
    }
    for (const [gold, said] of [
      ["1234567", "1,234,567"],
      ["12%", "12"],
      ["12", "$12"],
      ["1.5", "1.50"],
      ["Room 5", "room 5."],
      ["no. 7", "No 7"]
    ] as const) {
      assert.isTrue(TextAnswer.equivalent(gold, said), `${gold}: ${said}`)
    }
  })

  it("counts edits", () => {
    assert.strictEqual(TextAnswer.editDistance("kitten", "sitting"), 3)
    assert.strictEqual(TextAnswer.similarity("kitten", "sitting"), 1 - 3 / 7)
    assert.strictEqual(TextAnswer.similarity("", ""), 0)
  })

  it("counts shared words", () => {
    // Two of three words given, two of four wanted: 2 · 2 / (3 + 4).
    assert.strictEqual(TextAnswer.tokenF1("red green blue grey", "green red pink"), 4 / 7)
    assert.strictEqual(TextAnswer.tokenF1("red", "blue"), 0)
  })

  it.prop("is symmetric, between 0 and 1", [Schema.String, Schema.String], ([a, b]) => {
    for (const measure of [TextAnswer.similarity, TextAnswer.tokenF1]) {
      assert.strictEqual(measure(a, b), measure(b, a))
      assert.isAtLeast(measure(a, b), 0)
      assert.isAtMost(measure(a, b), 1)
    }
  })
})
