/** What holds of the verifier whatever a model writes. */
import { assert, describe, it } from "@effect/vitest"
import { MathAnswer } from "@atropos/envs"
import { Schema } from "effect"
import * as Latex from "../../src/verify/math/Latex.ts"
import * as Growth from "../../../core/test/base/Growth.ts"

const read = await Latex.load()

const isAccepted = (gold: string, completion: string, unmarked: "none" | "number" = "none"): boolean => {
  const answer = MathAnswer.extract(completion, { unmarked })
  return answer !== undefined && MathAnswer.equivalent(gold, answer, read)
}

const whole = Schema.Int.check(Schema.isBetween({ minimum: -100_000, maximum: 100_000 }))
const count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))
/** A property of the language's own arithmetic must not see -0. */
const text = (n: number) => String(n === 0 ? 0 : n)

const Word = Schema.Literals([
  "the",
  "answer",
  "final",
  "is",
  "are",
  "not",
  "correct",
  "wrong",
  "maybe",
  "or",
  "and",
  "so",
  "x = 3",
  "$7$",
  "####",
  "12",
  "-4",
  "1,000",
  "therefore",
  "never",
  "\\frac{1}{2}",
  "\\boxed{}",
  "\\boxed{answer}",
  "}",
  "{",
  "\n",
  ".",
  ":",
  "**",
  "isn't"
])
const Prose = Schema.Array(Word).check(Schema.isMaxLength(30))

/** "the answer is wrong" behind a box takes it back, as does "Wrong." */
const takesBack = /answer[\s*]+(?:is|isn't)|^[\s.:*]*wrong\s*\./

describe("a box", () => {
  it.prop(
    "is the answer whatever stands after it in other sentences and does not take it back",
    [whole, Prose],
    ([n, words]) => {
      if (takesBack.test(words.join(" "))) return
      const said = `We get \\boxed{${text(n)}}`
      assert.strictEqual(MathAnswer.extract(`${said}. ${words.join(" ")}`)?.trim(), text(n))
      assert.strictEqual(MathAnswer.extract(`${said}\n${words.join(" ")}`)?.trim(), text(n))
    }
  )

  it.prop("is the answer whatever prose stands in sentences before it", [whole, Prose], ([n, words]) => {
    const before = words.join(" ").replaceAll(/[{}]/g, "")
    assert.strictEqual(MathAnswer.extract(`${before}. Now: \\boxed{${text(n)}}`)?.trim(), text(n))
  })

  it.prop("in thinking is none", [whole, whole, Prose], ([n, m, words]) => {
    const thinking = `<think>${words.join(" ")} \\boxed{${text(n)}}</think>`
    assert.isUndefined(MathAnswer.extract(`${thinking} I do not know`, MathAnswer.accuracyOptions))
    assert.strictEqual(MathAnswer.extract(`${thinking} \\boxed{${text(m)}}`), text(m))
    assert.strictEqual(MathAnswer.extract(`\\boxed{${text(m)}} <think>\\boxed{${text(n)}}`), text(m))
  })
})

/** What models say around the number that they announce. */
const announced: ReadonlyArray<(n: string) => string> = [
  (n) => `The answer is ${n}.`,
  (n) => `The answer is ${n}, in total.`,
  (n) => `The answer is ${n} clips, in total.`,
  (n) => `The answer is ${n}! Great.`,
  (n) => `The answer is ${n} (see above).`,
  (n) => `The answer is **${n}**, as we computed.`,
  (n) => `The answer is ${n} \u2014 done.`,
  (n) => `The answer is ${n}; that is all she has.`,
  (n) => `The answer is ${n}, because she had some before.`,
  (n) => `The final answer is that Tom pays ${n}, including tax.`,
  (n) => `Answer: ${n} (in April and May combined)`,
  (n) => `#### ${n}, in total`,
  (n) => `The answer is ${n}: 3 times 4.`,
  (n) => `The answer is ${n}: three times four.`,
  (n) => `The answer is ${n}: 3*4 + 1`,
  (n) => `The answer is ${n} clips: 48 in April plus 24 in May.`,
  (n) => `The answer is **${n}**: we multiply 3 by 4.`,
  (n) => `Answer: ${n} (3 times 4)`,
  (n) => `The answer is ${n}: $3 \\times 4$`,
  (n) => `#### ${n}: half of them`
]
const minusSigns = "-\u2212\u2010\u2011\u2012\u2013\u2014\u2015\uff0d\ufe63\ufe58"

describe("an announced number", () => {
  it.prop(
    "keeps its verdict whatever prose and punctuation stand around it",
    [whole, whole],
    ([n, m]) => {
      const written = Math.abs(n).toLocaleString("en-US")
      for (const sign of n < 0 ? minusSigns : [""]) {
        for (const say of announced) {
          const said = say(sign + written)
          assert.isTrue(isAccepted(text(n), said), said)
          assert.strictEqual(isAccepted(text(m), said), m === n, said)
          assert.strictEqual(isAccepted(text(-n), said), n === 0, said)
          // A comma behind a number is no separator in it.
          if (Math.abs(n) > 999) assert.isFalse(isAccepted(text(Math.abs(n) % 1_000), said), said)
        }
      }
    },
    { arbitrary: { runs: 20 } }
  )
})

/** Ways of saying something else than \boxed{n}. */
const altered: ReadonlyArray<(box: string) => string> = [
  (box) => `-${box}`,
  (box) => `$-${box}$`,
  (box) => `2\\cdot${box}`,
  (box) => `${box}000`,
  (box) => `${box},000`,
  (box) => `${box}.5`,
  (box) => `x > ${box}`,
  (box) => `$x \\le ${box}$`,
  (box) => `$${box}^2$`,
  (box) => `$\\sqrt{${box}}$`,
  (box) => `${box} + 1`,
  (box) => `1${box}`,
  (box) => `half of ${box}`,
  (box) => `${box} million`,
  (box) => `${box} or so`,
  (box) => `${box} or 0.123456`,
  (box) => `maybe ${box}`,
  (box) => `${box}?`,
  (box) => `${box} is incorrect.`,
  (box) => `${box}. Wait, that's wrong. It should be 0.123456.`,
  (box) => `${box}. I made a mistake: the answer is 0.123456.`,
  (box) => `${box}. Correction: 0.123456.`
]
/** Ways of saying no more than \boxed{n}. */
const same: ReadonlyArray<(box: string) => string> = [
  (box) => `The answer is ${box}!`,
  (box) => `- ${box}`,
  (box) => `$x = ${box}$`,
  (box) => `$3 + 4 = ${box}$ apples`,
  (box) => `${box} more apples`,
  (box) => `${box}. Wait, let me check. Yes, that is right.`,
  (box) => `${box}. Note that 0.123456 is wrong.`,
  (box) => `0.123456 is wrong. It should be ${box}.`,
  (box) => `$${box}^\\circ$`,
  (box) => `${box} or ${box}`
]

describe("a box in its context", () => {
  it.prop("is no answer where it is computed with, hedged or taken back, and is one elsewhere", [whole], ([n]) => {
    const box = `\\boxed{${text(n)}}`
    for (const alter of altered) assert.isFalse(isAccepted(text(n), alter(box)), alter(box))
    for (const say of same) assert.isTrue(isAccepted(text(n), say(box)), say(box))
  })
})

/** Ways of saying that it is not `n`. */
const denials: ReadonlyArray<(n: string) => string> = [
  (n) => `The answer is not ${n}.`,
  (n) => `The answer is certainly not equal to ${n}`,
  (n) => `The answer isn't ${n}.`,
  (n) => `It is never ${n}.`,
  (n) => `It cannot be ${n}`,
  (n) => `I do not think that the answer is ${n}.`,
  (n) => `The wrong answer is ${n}.`,
  (n) => `The answer is surely not the number $${n}$.`,
  (n) => `The answer is not \\boxed{${n}}.`,
  (n) => `It is surely not equal to $\\boxed{${n}}$`,
  (n) => `$x \\neq \\boxed{${n}}$`,
  (n) => `\\boxed{\\neq ${n}}`,
  (n) => `\\boxed{x \\ne ${n}}`,
  (n) => `\\boxed{x \\not= ${n}}`,
  (n) => `\\boxed{\\neg ${n}}`,
  (n) => `\\boxed{\\text{not } ${n}}`,
  (n) => `\\boxed{\\text{not } x = ${n}}`,
  (n) => `\\boxed{\\text{anything but } ${n}}`,
  (n) => `\\boxed{x \\text{ is not equal to } ${n}}`,
  (n) => `\\boxed{${n} \\text{ is wrong}}`,
  (n) => `\\boxed{x \\notin \\{${n}\\}}`,
  (n) => `#### not ${n}`
]

describe("a denied statement", () => {
  it.prop("is never accepted", [whole], ([n]) => {
    for (const deny of denials) {
      assert.isFalse(isAccepted(text(n), deny(text(n))), deny(text(n)))
      assert.isFalse(isAccepted(text(n), deny(text(n)), "number"), deny(text(n)))
    }
  })
})

/** The same number written in several ways. */
const spellings = (n: number, d: number): ReadonlyArray<string> => [
  `\\frac{${text(n)}}{${d}}`,
  `${text(n)}/${d}`,
  `\\dfrac{${text(n * 3)}}{${d * 3}}`,
  ...(n % d === 0 ? [text(n / d), `${text(n / d)}.0`] : [])
]

describe("equality of numbers", () => {
  it.prop("is symmetric, and holds for all spellings or none", [whole, count, whole, count], ([n, d, m, e]) => {
    const isSame = n * e === m * d
    for (const one of spellings(n, d)) {
      for (const other of spellings(m, e)) {
        assert.strictEqual(MathAnswer.equivalent(one, other, read), isSame, `${one} ${other}`)
        assert.strictEqual(MathAnswer.equivalent(other, one, read), isSame, `${other} ${one}`)
        assert.strictEqual(MathAnswer.decide(one, other), isSame, `${one} ${other}`)
      }
    }
  })

  it.prop(
    "is not changed by braces that show nothing, and separators are one thing or the other",
    [count, count],
    ([a, b]) => {
      const together = `${a}${b}`
      for (const said of [`${a}{${b}}`, `{${a}}${b}`, `{${a}}{${b}}`]) {
        assert.isTrue(MathAnswer.equivalent(together, said, read), said)
        if (String(a * b) !== together) assert.isFalse(MathAnswer.equivalent(String(a * b), said, read), said)
      }
      const said = `${a}{,}${String(b).padStart(3, "0")}`
      const isThousands = a < 1_000 && b < 1_000
      assert.strictEqual(MathAnswer.equivalent(said.replace("{,}", ""), said, read), isThousands, said)
      assert.strictEqual(MathAnswer.equivalent(said.replace("{,}", "."), said, read), !isThousands, said)
    }
  )

  it.prop("is refused to the square root of a number next to a square", [count, count], ([n, places]) => {
    const square = String(n * n)
    for (const next of [`${square}+10^{-${places}}`, `${square}-10^{-${places}}`]) {
      assert.isFalse(MathAnswer.equivalent(String(n), `\\sqrt{${next}}`, read), next)
      assert.isFalse(MathAnswer.equivalent(`${n}\\pi`, `\\pi\\sqrt{${next}}`, read), next)
    }
  })
})

const Token = Schema.Literals(
  (
    "\\frac{ \\sqrt{ \\boxed{ \\text{ \\left( \\right) \\pm \\cup \\in \\neq \\leq = < > ( ) [ ] { } \\{ \\} , ; : . ! ' ^ _ + - * / | 1 2 9 12 0.5 999999 x y n f(x) \\pi e i " +
    "\\infty \\sin \\ln \\sum_{k=1}^{ \\prod_{k=1}^{ \\int \\lim \\binom{ \\begin{pmatrix} \\end{pmatrix} & \\\\ \\% $ ^\\circ {,} \\dots and or not the answer is #### " +
    "<think> </think> \\text{not} \\Rightarrow \\approx \\mid # % ? é ∞ \\"
  ).split(" ")
)
const Soup = Schema.Array(Token).check(Schema.isMaxLength(60))

describe("anything", () => {
  it.prop("is read in linear time, without an exception", [Soup, Soup], ([gold, words]) => {
    const reference = MathAnswer.extractReference(gold.join(""))
    const reading = (repeats: number) => {
      const said = Array.from({ length: repeats }, () => words.join(" ")).join(" ")
      return () => {
        for (const completion of [said, said.replaceAll(" ", ""), `\\boxed{${said}}`, `The answer is ${said}`]) {
          const answer = MathAnswer.extract(completion)
          if (answer !== undefined) MathAnswer.decide(reference, answer)
        }
      }
    }
    reading(1)()
    assert.isTrue(Growth.isLinear(32, reading), words.join(" "))
  })

  it.prop("is read and compared without an exception", [Soup, Soup], ([gold, words]) => {
    for (const answer of [words.join(" "), words.join("")]) {
      assert.isBoolean(MathAnswer.equivalent(gold.join(""), answer, read))
    }
  })
})
