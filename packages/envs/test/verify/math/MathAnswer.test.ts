import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { MathAnswer } from "@atropos/envs"
import * as Latex from "../../../src/verify/math/Latex.ts"
import hostile from "../../fixtures/verify/hostile.json" with { type: "json" }
import negative from "../../fixtures/verify/negative.json" with { type: "json" }
import positive from "../../fixtures/verify/positive.json" with { type: "json" }
import * as Growth from "../../../../core/test/base/Growth.ts"

const read = await Latex.load()
const extractAll = (text: string) => MathAnswer.extract(text, { maxBoxed: Infinity })
const equivalent = (gold: string, prediction: string) => MathAnswer.equivalent(gold, prediction, read)
const pairs = (fixture: Record<string, ReadonlyArray<ReadonlyArray<string>>>) =>
  Object.entries(fixture).map(
    ([name, list]) => [name, list.map(([gold = "", prediction = ""]) => [gold, prediction] as const)] as const
  )

describe("MathAnswer.equivalent", () => {
  for (const [name, list] of pairs(positive)) {
    it(`accepts the same answer written otherwise: ${name}`, () => {
      const rejected = list.filter(([gold, prediction]) => !equivalent(gold, prediction))
      assert.deepStrictEqual(rejected, [])
    })
  }

  for (const [name, list] of pairs(negative)) {
    it(`rejects wrong answers: ${name}`, () => {
      const accepted = list.filter(([gold, prediction]) => equivalent(gold, prediction))
      assert.deepStrictEqual(accepted, [])
    })
  }

  it("calls every well-formed gold answer of the fixtures equal to itself", () => {
    const golds = [...Object.values(positive), ...Object.values(negative)].flat().map(([gold = ""]) => gold)
    assert.deepStrictEqual(
      golds.filter((gold) => gold !== "" && !equivalent(gold, gold)),
      []
    )
  })

  it("gives the same verdict without the engine wherever it gives one", () => {
    const all = [...Object.values(positive), ...Object.values(negative)].flat()
    const differing = all.filter(([gold = "", prediction = ""]) => {
      const verdict = MathAnswer.decide(gold, prediction)
      return verdict !== undefined && verdict !== equivalent(gold, prediction)
    })
    assert.deepStrictEqual(differing, [])
  })

  it("needs no engine for nearly half of the comparisons", () => {
    const all = [...Object.values(positive), ...Object.values(negative)].flat()
    const decided = all.filter(([gold = "", prediction = ""]) => MathAnswer.decide(gold, prediction) !== undefined)
    assert.isAbove(decided.length, 0.45 * all.length)
  })

  it("rejects hostile answers whatever the reference, without an exception", () => {
    const golds = ["5", "x^2 + 1", "\\infty", "\\{1,2\\}", "x < 3"]
    const accepted = Object.values(hostile)
      .flat()
      .flatMap((answer) => golds.filter((gold) => equivalent(gold, answer)).map((gold) => [gold, answer]))
    assert.deepStrictEqual(accepted, [])
  })

  it("accepts a decimal with six places for the number it is the rounding of, and others as the rules say", () => {
    assert.isTrue(equivalent("\\frac{1}{3}", "0.333333"))
    assert.isFalse(equivalent("\\frac{1}{3}", "0.33"))
    assert.isTrue(MathAnswer.equivalent("\\frac{1}{3}", "0.33", read, { decimalPlaces: 2 }))
    assert.isFalse(MathAnswer.equivalent("\\frac{1}{3}", "0.34", read, { decimalPlaces: 2 }))
  })

  it("compares integers exactly at any length", () => {
    for (const digits of [20, 31, 700, 30_000]) {
      const n = "7".repeat(digits)
      for (const compare of [equivalent, (a: string, b: string) => MathAnswer.decide(a, b) === true]) {
        assert.isTrue(compare(n, n))
        assert.isTrue(compare(n, `00${n}`))
        assert.isFalse(compare(n, `${n.slice(0, -1)}8`))
        assert.isFalse(compare(n, `-${n}`))
      }
    }
    assert.isTrue(equivalent("-0", "0"))
  })

  it("accepts an inequality for an interval only where the rules say so", () => {
    assert.isFalse(equivalent("[-2,7]", "-2 \\leq x \\leq 7"))
    assert.isTrue(MathAnswer.equivalent("[-2,7]", "-2 \\leq x \\leq 7", read, { acceptsInequalities: true }))
    assert.isTrue(equivalent("-2 \\leq x \\leq 7", "[-2,7]"))
  })
})

const small = Schema.Int.check(Schema.isBetween({ minimum: -10_000, maximum: 10_000 }))
const positiveInteger = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))
/** A property of the language's own arithmetic must not see -0. */
const text = (n: number) => String(n === 0 ? 0 : n)

describe("MathAnswer.equivalent on generated numbers", () => {
  it.prop(
    "accepts a fraction multiplied out, in LaTeX and in plain text",
    [small, positiveInteger, positiveInteger],
    ([a, b, k]) => {
      assert.isTrue(equivalent(`\\frac{${text(a)}}{${b}}`, `${text(a * k)}/${b * k}`))
    }
  )

  it.prop("never equates different fractions", [small, positiveInteger, small, positiveInteger], ([a, b, c, d]) => {
    const isSame = a * d === c * b
    assert.strictEqual(equivalent(`\\frac{${text(a)}}{${b}}`, `\\frac{${text(c)}}{${d}}`), isSame)
    assert.strictEqual(equivalent(`\\frac{${text(c)}}{${d}}`, `\\frac{${text(a)}}{${b}}`), isSame)
  })

  it.prop("reads decimals exactly", [small, positiveInteger], ([whole, places]) => {
    const digits = String(places).padStart(5, "0")
    const sign = whole < 0 ? "-" : ""
    const magnitude = Math.abs(whole)
    assert.isTrue(
      equivalent(
        `${sign}${magnitude}.${digits}`,
        `${sign}\\frac{${BigInt(magnitude) * 100_000n + BigInt(places)}}{100000}`
      )
    )
    assert.isFalse(equivalent(`${sign}${magnitude}.${digits}`, `${sign}${magnitude}.${digits}1`))
  })

  const tenths = Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 100_000 }))
  it.prop("takes n for n percent and never for a hundredth of it", [tenths, Schema.Boolean], ([n, isNegative]) => {
    const sign = isNegative ? "-" : ""
    const [written, hundredth] = [`${sign}${n / 10}`, `${sign}${BigInt(n)}/1000`]
    for (const percentage of [`${written}\\%`, `${written} percent`, `${written} \\text{ percent}`]) {
      assert.isTrue(equivalent(written, percentage), percentage)
      assert.isTrue(equivalent(percentage, written), percentage)
      // Its value, where the reference is written in percent or as a fraction.
      assert.isTrue(equivalent(percentage, hundredth), percentage)
      if (n % 1_000 !== 0) assert.isTrue(equivalent(hundredth, percentage), percentage)
    }
    for (const other of [hundredth, `${hundredth}\\%`, `${sign}${n * 10}`, `${sign}${n * 10}\\%`]) {
      assert.isFalse(equivalent(written, other), other)
    }
  })

  it.prop("accepts thousands separators", [small], ([n]) => {
    assert.isTrue(equivalent(text(n), (n === 0 ? 0 : n).toLocaleString("en-US")))
  })
})

describe("MathAnswer.equivalent on generated polynomials", () => {
  const coefficients = [small, small, small] as const
  const polynomial = (a: number, b: number, c: number) => `(${text(a)})x^2+(${text(b)})x+(${text(c)})`

  it.prop("accepts terms in another order and factored out", [...coefficients], ([a, b, c]) => {
    const other = `(${text(c)})+x\\left((${text(b)})+(${text(a)})x\\right)`
    assert.isTrue(equivalent(polynomial(a, b, c), other))
    assert.isTrue(equivalent(other, polynomial(a, b, c)))
  })

  it.prop("rejects a changed coefficient", [...coefficients, positiveInteger], ([a, b, c, change]) => {
    assert.isFalse(equivalent(polynomial(a, b, c), polynomial(a, b, c + change)))
    assert.isFalse(equivalent(polynomial(a, b, c), polynomial(a + change, b, c)))
  })
})

describe("MathAnswer.extract", () => {
  const cases: ReadonlyArray<readonly [name: string, completion: string, expected: string | undefined]> = [
    ["a box", "so \\boxed{18}.", "18"],
    ["nested braces", "so \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"],
    ["the last box", "\\boxed{1}. No, that is wrong; it must be \\boxed{2}.", "2"],
    ["boxes of one list", "\\boxed{1} and \\boxed{2}", "1 , 2"],
    ["the text after thinking only", "<think>\\boxed{1}</think> It is \\boxed{2}", "2"],
    ["nothing from thinking that never ends", "<think>\\boxed{1}", undefined],
    ["an announcement", "The answer is 42.", "42"],
    ["an announced formula", "The final answer is $\\frac{1}{2}$. I hope it is correct.", "\\frac{1}{2}"],
    ["the box before an announcement", "\\boxed{455}. This answer is correct.", "455"],
    ["the box whatever else is announced", "\\boxed{200} for now. The final answer is $455$.", "200"],
    ["the box beside talk of boxes", "\\boxed{3} I put it into \\boxed{} as \\boxed{answer}", "3"],
    ["the box inside one that never closes", "\\boxed{6 \\boxed{5}", "5"],
    ["one answer in a box that is said twice", "\\boxed{5}\n\\boxed{5}", "5"],
    ["nothing in a box that is denied", "The answer is not \\boxed{5}", undefined],
    ["the box before thinking that never ends", "\\boxed{5} <think> or \\boxed{6}", "5"],
    ["the announcement before a remark", "The answer is 42. This answer is correct.", "42"],
    ["nothing in an announcement that denies", "The answer is certainly not equal to 5", undefined],
    ["nothing in an announcement that is open", "The answer is $5$ or possibly $6$", undefined],
    ["four hashes", "6 * 7 = 42\n#### 42", " 42"],
    ["the last formula", "We get $x = 3$ and so $y = 4$", "y = 4"],
    ["the last number", "we saw that there are 3 cats and 1,200 dogs", "1,200"],
    ["a percent sign outside", "it is $28$ percent", "28 \\% "],
    ["nothing in a box that is cut off", "The answer is 28: \\boxed{28 percent", undefined],
    ["nothing", "I do not know", undefined]
  ]
  for (const [name, completion, expected] of cases) {
    it(`finds ${name}`, () =>
      assert.strictEqual(MathAnswer.extract(completion, { unmarked: "number" })?.trim(), expected?.trim()))
  }

  it("finds no answer among more boxes than allowed", () => {
    const guesses = Array.from({ length: 7 }, (_, i) => `\\boxed{${i}}`).join(" ")
    assert.isUndefined(MathAnswer.extract(guesses))
    assert.isDefined(MathAnswer.extract(guesses, { maxBoxed: 7 }))
  })

  it("takes nothing unmarked, as the original's Accuracy reward, whatever part of the options is given", () => {
    for (const options of [undefined, {}, { maxBoxed: 6 }, { splitsOnThinkTag: true }, MathAnswer.accuracyOptions]) {
      assert.isUndefined(MathAnswer.extract("Let me think about step 4", options))
      assert.isUndefined(MathAnswer.extract("there are $3$ cats", options))
      assert.strictEqual(MathAnswer.extract("\\boxed{3}", options), "3")
    }
  })

  const references: ReadonlyArray<readonly [layout: string, reference: string, answer: string]> = [
    ["GSM8K's", "9 + 9 = 18\n#### 18", "18"],
    ["MetaMathQA's", "She has 18.\n#### 18\nThe answer is: 18", "18"],
    ["MetaMathQA's, a formula", "So it is one half.\n\nThe answer is: \\frac{1}{2}", "\\frac{1}{2}"],
    ["MetaMathQA's, a box", "It is $\\boxed{\\frac{1}{2}}$.\nThe answer is: \\frac{1}{2}", "\\frac{1}{2}"],
    ["a marker with the answer on the next line", "Steps.\n####\n18\n", "18"],
    ["a marker with words behind the line", "Steps.\n#### 1,200\nHope that helps!", "1,200"],
    ["five hashes", "##### 18", "18"],
    ["headings above a box", "#### Step 1\n2 + 2\n#### Conclusion\nSo $\\boxed{4}$.", "4"],
    ["MATH's", "so $\\boxed{\\frac12}$", "\\frac12"],
    ["a box in a calculation", "so $x > \\boxed{3}$", "3"],
    ["a box that never closes", "so \\boxed{3", "3"],
    ["tags", "<think>18?</think><answer>18</answer>", "18"],
    ["few-shot prompts'", "Final Answer: The final answer is $18$. I hope it is correct.", "18"],
    ["instructions'", "She sells 9 + 9 = 18 eggs. The answer is 18.", "18"],
    ["a bare answer", "x^2", "x^2"],
    ["a bare answer with a minus sign of Unicode", "\u22125", "-5"]
  ]
  for (const [layout, reference, answer] of references) {
    it(`finds the answer of a reference in this layout: ${layout}`, () =>
      assert.strictEqual(MathAnswer.extractReference(reference), answer))
  }

  it.effect("reads hostile texts of 100,000 characters in linear time", () =>
    Effect.sync(() => {
      const seeds = [
        "\\boxed{",
        "\\[",
        "$",
        "answer is ",
        "1 ",
        "\\(",
        "9",
        "1,",
        "</think>",
        "\n#### ",
        "answer" + " ".repeat(500)
      ]
      for (const seed of seeds) {
        assert.isTrue(Growth.isLinearIn(100_000, seed, extractAll), seed)
      }
    })
  )
})
