import { assert, describe, it, layer } from "@effect/vitest"
import { SeededRandom } from "@atropos/core"
import { MathVerifier } from "@atropos/envs"
import { Effect, Schema } from "effect"
import * as Algebra from "../../src/math/Algebra.ts"
import * as Calculus from "../../src/math/Calculus.ts"
import * as Form from "../../src/math/Form.ts"
import * as Numbers from "../../src/math/Numbers.ts"
import { type Draw, fraction, terms } from "../../src/math/Problem.ts"

const kinds: { readonly [name: string]: Draw } = { ...Algebra, ...Calculus, ...Numbers }
const Name = Schema.Literals(Object.keys(kinds) as [string, ...Array<string>])

const draw = (name: string, index: number) => kinds[name]!(SeededRandom.seeded(5, index))

/** The value of a whole number, a fraction, a multiple of π or a root, as it is written. */
const value = (latex: string): number => {
  const part = /^(-?)(?:\\frac\{(\d+)\}\{(\d+)\}|(\d*\.?\d*)(?:\\sqrt\{(\d+)\}|(\\pi))?)$/.exec(latex)
  if (part === null) return Number.NaN
  const [, sign, above, below, factor, root, pi] = part
  const size = above === undefined ? (factor === "" ? 1 : Number(factor)) : Number(above) / Number(below)
  return (
    (sign === "-" ? -1 : 1) *
    size *
    (root === undefined ? 1 : Math.sqrt(Number(root))) *
    (pi === undefined ? 1 : Math.PI)
  )
}

/** The value of a polynomial in one or two unknowns (or i left out), written as `2x^2 - 3x + 1`. */
const evaluate = (polynomial: string, at: { readonly [name: string]: number }): number =>
  Array.from(polynomial.replaceAll(" ", "").matchAll(/([+-]?)(\d*)([a-z]?)(?:\^(\d+))?/g)).reduce(
    (sum, [whole, sign, factor, name = "", power]) =>
      whole === ""
        ? sum
        : sum +
          (sign === "-" ? -1 : 1) * Number(factor || 1) * (name === "" ? 1 : (at[name] ?? 0) ** Number(power ?? 1)),
    0
  )

const numbersIn = (text: string) => Array.from(text.matchAll(/-?\d+(?:\.\d+)?/g), Number)
const formulasIn = (text: string) => Array.from(text.matchAll(/\$([^$]+)\$/g), ([, inside = ""]) => inside)
const xs = [-3, -1.5, 0, 0.5, 2, 7]

/** Whether the answer is right, told from the problem's words in another way than it was made. */
const checks: { readonly [name: string]: (problem: string, answer: string) => boolean } = {
  linearEquation: (problem, answer) => {
    const [left = "", right = ""] = formulasIn(problem)[1]!.split("=")
    const x = value(answer)
    return Math.abs(evaluate(left, { x }) - evaluate(right, { x })) < 1e-9
  },
  quadraticRoots: (problem, answer) => {
    const roots = numbersIn(answer)
    const [polynomial = ""] = formulasIn(problem)[0]!.split("=")
    return roots.length === 2 && roots[0] !== roots[1] && roots.every((x) => evaluate(polynomial, { x }) === 0)
  },
  system: (problem, answer) => {
    const [x = 0, y = 0] = numbersIn(answer)
    const equations = formulasIn(problem).slice(0, 2)
    const holds = (at: { readonly x: number; readonly y: number }) =>
      equations.every((equation) => {
        const [left = "", right = ""] = equation.split("=")
        return evaluate(left, at) === Number(right)
      })
    const others = [-9, -5, -1, 1, 5, 9].flatMap((dx) => [-9, -1, 1, 9].map((dy) => ({ x: x + dx, y: y + dy })))
    return holds({ x, y }) && !others.some(holds)
  },
  absoluteInequality: (problem, answer) => {
    const [, inside = "", operator, radius] = /\|(.+)\| (<|\\leq) (\d+)/.exec(problem)!
    const [low = 0, high = 0] = numbersIn(answer)
    const holds = (x: number) => {
      const size = Math.abs(evaluate(inside, { x }))
      return operator === "<" ? size < Number(radius) : size <= Number(radius)
    }
    const edge = answer.startsWith("[") && answer.endsWith("]")
    return holds((low + high) / 2) && holds(low) === edge && holds(high) === edge && !holds(low - 1) && !holds(high + 1)
  },
  expansion: (problem, answer) => {
    const [, one = "", other = ""] = /\((.+)\)\((.+)\)/.exec(problem)!
    return xs.every((x) => Math.abs(evaluate(one, { x }) * evaluate(other, { x }) - evaluate(answer, { x })) < 1e-6)
  },
  radical: (problem, answer) => {
    const [square = 0] = numbersIn(problem)
    return Math.abs(value(answer) - Math.sqrt(square)) < 1e-9
  },
  complexProduct: (problem, answer) => {
    const [, one = "", other = ""] = /\((.+)\)\((.+)\)/.exec(problem)!
    const real = (number: string) => evaluate(number, { i: 0 })
    const imaginary = (number: string) => evaluate(number, { i: 1 }) - real(number)
    return (
      real(answer) === real(one) * real(other) - imaginary(one) * imaginary(other) &&
      imaginary(answer) === real(one) * imaginary(other) + imaginary(one) * real(other)
    )
  },
  determinant: (problem, answer) => {
    const [a = 0, b = 0, c = 0, d = 0] = numbersIn(problem)
    return Number(answer) === a * d - b * c
  },
  fractionSum: (problem, answer) => {
    const [a = 0, b = 1, c = 0, d = 1] = numbersIn(problem.replace(" - ", " + "))
    return Math.abs(value(answer) - (a / b + (problem.includes(" - ") ? -1 : 1) * (c / d))) < 1e-9
  },
  divisors: (problem, answer) => {
    const [a = 0, b = 0] = numbersIn(problem)
    const wanted = Number(answer)
    const upTo = Array.from({ length: a * b }, (_, index) => index + 1)
    return problem.includes("greatest")
      ? wanted === upTo.findLast((one) => one <= a && a % one === 0 && b % one === 0)
      : wanted === upTo.find((one) => one % a === 0 && one % b === 0)
  },
  powerRemainder: (problem, answer) => {
    const [base = 0, exponent = 0, modulus = 1] = numbersIn(problem)
    return BigInt(answer) === BigInt(base) ** BigInt(exponent) % BigInt(modulus)
  },
  series: (problem, answer) => {
    const [first = 0, second = 0] = numbersIn(problem)
    const last = numbersIn(problem).at(-1)!
    let sum = 0
    for (let term = first; term <= last; term += second - first) sum += term
    return sum === Number(answer)
  },
  geometricSeries: (problem, answer) => {
    const [first = 0] = numbersIn(problem)
    const ratio = value(formulasIn(problem)[0]!)
    let sum = 0
    for (let power = 0; power < 300; power++) sum += first * ratio ** power
    return Math.abs(sum - value(answer)) < 1e-6
  },
  combinations: (problem, answer) => {
    const [k = 0, n = 0] = numbersIn(problem)
    let count = 0
    for (let set = 0; set < 2 ** n; set++) if (set.toString(2).replaceAll("0", "").length === k) count++
    return count === Number(answer)
  },
  dice: (problem, answer) => {
    const sum = numbersIn(problem).at(-1)!
    const faces = [1, 2, 3, 4, 5, 6]
    const ways = faces.flatMap((one) => faces.map((other) => one + other)).filter((one) => one === sum).length
    return Math.abs(value(answer) - ways / 36) < 1e-9
  },
  percentages: (problem, answer) => {
    const [price = 0, rise = 0, fall = 0] = numbersIn(problem)
    return Math.abs(Number(answer) - price * (1 + rise / 100) * (1 - fall / 100)) < 1e-9
  },
  rightTriangle: (problem, answer) => {
    const [a = 0, b = 0] = numbersIn(problem)
    return Math.abs(Number(answer) - (problem.includes("area") ? (a * b) / 2 : Math.hypot(a, b))) < 1e-9
  },
  circle: (problem, answer) => {
    const [radius = 0] = numbersIn(problem)
    return Math.abs(value(answer) - Math.PI * (problem.includes("area") ? radius ** 2 : 2 * radius)) < 1e-9
  },
  distance: (problem, answer) => {
    const [a = 0, b = 0, c = 0, d = 0] = numbersIn(problem)
    return Math.abs(value(answer) - Math.hypot(c - a, d - b)) < 1e-9
  },
  logarithm: (problem, answer) => {
    const [base = 0, ...rest] = numbersIn(problem)
    const argument = problem.includes("frac") ? 1 / rest[1]! : rest[0]!
    return Math.abs(base ** Number(answer) / argument - 1) < 1e-9
  },
  derivative: (problem, answer) => {
    const polynomial = /= (.+)\$ with/.exec(problem)![1]!
    const h = 1e-4
    return xs.every(
      (x) =>
        Math.abs(
          (evaluate(polynomial, { x: x + h }) - evaluate(polynomial, { x: x - h })) / (2 * h) - evaluate(answer, { x })
        ) < 1e-4
    )
  },
  integral: (problem, answer) => {
    const [, to, polynomial = ""] = /\^\{(\d)\} \((.+)\)/.exec(problem)!
    const pieces = 2_000
    const width = Number(to) / pieces
    let sum = 0
    for (let piece = 0; piece < pieces; piece++) sum += evaluate(polynomial, { x: (piece + 0.5) * width }) * width
    return Math.abs(sum - value(answer)) < 1e-3
  }
}

describe("a generated problem", () => {
  it("has a check for every kind", () => {
    assert.sameMembers(Object.keys(checks), Object.keys(kinds))
  })

  it.prop(
    "has the right answer, told another way",
    [Name, Schema.Natural],
    ([name, index]) => {
      const { answer, problem } = draw(name, index)
      assert.isTrue(checks[name]!(problem, answer), `${name}: ${problem} ${answer}`)
    },
    { arbitrary: { runs: 600 } }
  )

  it("has enough of each kind to train on and to hold out", () => {
    for (const name of Object.keys(kinds)) {
      const different = new Set(Array.from({ length: 300 }, (_, index) => draw(name, index).problem))
      assert.isAtLeast(different.size, name === "dice" ? 11 : 25, name)
    }
  })
})

layer(MathVerifier.layer(), { excludeTestServices: true })("the verifier", (it) => {
  it.effect("and the form refuse every formula of a problem said again", () =>
    Effect.gen(function* () {
      const { grade } = yield* MathVerifier.MathVerifier
      for (const name of Object.keys(kinds)) {
        for (let index = 0; index < 5; index++) {
          const { answer, form, problem } = draw(name, index)
          const again = [
            problem,
            ...formulasIn(problem),
            ...formulasIn(problem).flatMap((formula) => formula.split("="))
          ]
          for (const formula of again) {
            const completion = `so \\boxed{${formula.trim()}}`
            const isRight = Form.has(form, completion) && (yield* grade(`\\boxed{${answer}}`, completion))
            assert.isFalse(isRight, `${name}: ${formula} for ${answer}`)
          }
          assert.isTrue(Form.has(form, `so \\boxed{${answer}}`), `${name}: ${answer}`)
        }
      }
    })
  )

  it.effect("accepts the answer of every kind, and no other near it", () =>
    Effect.gen(function* () {
      const { counts, grade } = yield* MathVerifier.MathVerifier
      for (const name of Object.keys(kinds)) {
        for (let index = 0; index < 6; index++) {
          const { answer } = draw(name, index)
          assert.isTrue(yield* grade(`\\boxed{${answer}}`, `so \\boxed{${answer}}`), answer)
          assert.isFalse(yield* grade(`\\boxed{${answer}}`, `so \\boxed{${answer} + 1}`), answer)
        }
      }
      assert.strictEqual((yield* counts).timedOut, 0)
    })
  )
})

describe("terms and fractions", () => {
  it("are written as one writes them", () => {
    assert.strictEqual(
      terms([
        [1, "x^2"],
        [-1, "x"],
        [0, "y"],
        [-3, ""]
      ]),
      "x^2 - x - 3"
    )
    assert.strictEqual(
      terms([
        [-2, "x"],
        [1, ""]
      ]),
      "-2x + 1"
    )
    assert.strictEqual(terms([[0, "x"]]), "0")
    assert.strictEqual(fraction(6, -4), "-\\frac{3}{2}")
    assert.strictEqual(fraction(-6, 3), "-2")
    assert.strictEqual(fraction(0, 5), "0")
  })
})
