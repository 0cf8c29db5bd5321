import { assert, describe, it } from "@effect/vitest"
import * as Form from "../../src/math/Form.ts"

const cases: {
  readonly [form in Form.Form]: { readonly has: ReadonlyArray<string>; readonly lacks: ReadonlyArray<string> }
} = {
  number: {
    has: [
      "12",
      "-12",
      "−3",
      "+3",
      "0.5",
      "1,200",
      "1{,}200",
      "\\frac{3}{2}",
      "-\\dfrac{3}{2}",
      "\\frac12",
      "2\\frac{1}{3}",
      "3/2",
      "x = 3",
      "12 \\text{ cm}",
      "12 cm^2",
      "\\text{12}",
      "94.5 \\text{ euros}",
      "\\$12",
      "12\\%",
      "12 €"
    ],
    lacks: [
      "\\frac{1}{2} + \\frac{1}{3}",
      "\\log_2 8",
      "\\binom{5}{2}",
      "\\sqrt{3^2+4^2}",
      "3 \\cdot 4",
      "3 \\times 4",
      "2^3",
      "7^{13} \\bmod 5",
      "\\sum_{k=1}^{10} k",
      "5!",
      "1, 2",
      ""
    ]
  },
  expanded: {
    has: ["x^2 + 3x + 2", "3 - 2i", "f'(x) = 3x^2 + 2", "y' = 2x", "\\sqrt{13}", "-7"],
    lacks: ["(x+1)(x+2)", "\\frac{d}{dx}(x^2)", "(7 + 5i)(3 + 6i)", "\\sqrt{(3-1)^2+(2-5)^2}", "x(x+3)+2"]
  },
  radical: {
    has: ["6\\sqrt{2}", "6 \\sqrt{2}", "6 \\cdot \\sqrt{2}", "6\\sqrt2"],
    lacks: ["\\sqrt{72}", "3\\sqrt{8}", "2\\sqrt{18}", "\\sqrt{36}\\sqrt{2}", "1\\sqrt{72}", "6\\sqrt{2} + 0"]
  }
}

describe("the form of an answer", () => {
  for (const [form, { has, lacks }] of Object.entries(cases)) {
    it(`as ${form} is told from others`, () => {
      for (const answer of has) assert.isTrue(Form.has(form as Form.Form, `so \\boxed{${answer}}`), answer)
      for (const answer of lacks) assert.isFalse(Form.has(form as Form.Form, `so \\boxed{${answer}}`), answer)
    })
  }

  it("is that of the final answer, and any where none is asked for", () => {
    assert.isTrue(Form.has("number", "<think>\\boxed{1+1}</think>so \\boxed{2}"))
    assert.isFalse(Form.has("number", "no answer"))
    assert.isTrue(Form.has(undefined, "no answer"))
  })
})
