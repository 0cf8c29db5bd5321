/** Problems of geometry, logarithms, derivatives and integrals. */
import { type Draw, fraction, nonZero, terms } from "./Problem.ts"

const triples: ReadonlyArray<readonly [leg: number, other: number, hypotenuse: number]> = [
  [3, 4, 5],
  [5, 12, 13],
  [8, 15, 17],
  [7, 24, 25],
  [20, 21, 29]
]

/** The hypotenuse or the area of a right triangle. */
export const rightTriangle: Draw = (random) => {
  const [a, b, c] = random.pick(triples)
  const scale = random.between(1, 6)
  const wantsArea = random.chance(0.5)
  return {
    problem: `A right triangle has legs of length ${scale * a} and ${scale * b}. Find ${wantsArea ? "its area" : "the length of its hypotenuse"}.`,
    answer: String(wantsArea ? (scale * a * scale * b) / 2 : scale * c),
    form: "number"
  }
}

/** The area or circumference of a circle, with π. */
export const circle: Draw = (random) => {
  const radius = random.between(2, 20)
  const wantsArea = random.chance(0.5)
  return {
    problem: `A circle has radius ${radius}. Find its ${wantsArea ? "area" : "circumference"} in terms of $\\pi$.`,
    answer: `${wantsArea ? radius * radius : 2 * radius}\\pi`
  }
}

export const distance: Draw = (random) => {
  const [x, y, dx, dy] = [nonZero(random, 9), nonZero(random, 9), nonZero(random, 9), nonZero(random, 9)]
  return {
    problem: `Find the distance between $(${x}, ${y})$ and $(${x + dx}, ${y + dy})$.`,
    answer: `\\sqrt{${dx * dx + dy * dy}}`,
    form: "expanded"
  }
}

export const logarithm: Draw = (random) => {
  const [base, exponent] = [random.pick([2, 3, 5, 10]), random.between(2, 6)]
  const isInverse = random.chance(0.4)
  return {
    problem: `Evaluate $\\log_{${base}} ${isInverse ? `\\frac{1}{${base ** exponent}}` : base ** exponent}$.`,
    answer: String(isInverse ? -exponent : exponent),
    form: "number"
  }
}

export const derivative: Draw = (random) => {
  const [a, b, c, d] = [nonZero(random, 6), nonZero(random, 9), nonZero(random, 9), nonZero(random, 9)]
  return {
    problem: `Differentiate $f(x) = ${terms([
      [a, "x^3"],
      [b, "x^2"],
      [c, "x"],
      [d, ""]
    ])}$ with respect to $x$.`,
    answer: terms([
      [3 * a, "x^2"],
      [2 * b, "x"],
      [c, ""]
    ]),
    form: "expanded"
  }
}

/** The integral of a quadratic from 0. */
export const integral: Draw = (random) => {
  const [a, b, to] = [nonZero(random, 9), nonZero(random, 9), random.between(1, 4)]
  return {
    problem: `Evaluate $\\int_0^{${to}} (${terms([
      [a, "x^2"],
      [b, "x"]
    ])})\\,dx$.`,
    answer: fraction(2 * a * to ** 3 + 3 * b * to ** 2, 6),
    form: "number"
  }
}
