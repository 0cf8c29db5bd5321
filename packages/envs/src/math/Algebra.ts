/** Problems of algebra: equations, systems, inequalities, polynomials, radicals, complex numbers, matrices. */
import { type Draw, fraction, nonZero, terms } from "./Problem.ts"

/** ax + b = cx + d. */
export const linearEquation: Draw = (random) => {
  const [b, d, c] = [nonZero(random, 20), nonZero(random, 20), nonZero(random, 6)]
  const a = c + nonZero(random, 9)
  return {
    problem: `Solve for $x$: $${terms([
      [a, "x"],
      [b, ""]
    ])} = ${terms([
      [c, "x"],
      [d, ""]
    ])}$.`,
    answer: fraction(d - b, a - c),
    form: "number"
  }
}

/** Both roots, which are integers. */
export const quadraticRoots: Draw = (random) => {
  const one = nonZero(random, 9)
  const step = random.between(1, 8)
  const other = one + step
  const polynomial = terms([
    [1, "x^2"],
    [-(one + other), "x"],
    [one * other, ""]
  ])
  return { problem: `Find all real solutions of $${polynomial} = 0$.`, answer: `\\{${one}, ${other}\\}` }
}

export const system: Draw = (random) => {
  const [x, y] = [nonZero(random, 9), nonZero(random, 9)]
  const [a, b, c] = [nonZero(random, 5), nonZero(random, 5), nonZero(random, 5)]
  const drawn = nonZero(random, 5)
  // The equations must be independent: ad must not equal bc.
  const d = a * drawn === b * c ? drawn + (drawn === -1 ? 2 : 1) : drawn
  const equation = (p: number, q: number) =>
    `${terms([
      [p, "x"],
      [q, "y"]
    ])} = ${p * x + q * y}`
  return {
    problem: `Solve the system $${equation(a, b)}$, $${equation(c, d)}$. Give $(x, y)$.`,
    answer: `(${x}, ${y})`
  }
}

/**
 *
 * |x - a| < b as an interval.
 */
export const absoluteInequality: Draw = (random) => {
  const [center, radius] = [nonZero(random, 12), random.between(1, 12)]
  const isStrict = random.chance(0.5)
  const [open, close] = isStrict ? ["(", ")"] : ["[", "]"]
  return {
    problem: `Solve $|${terms([
      [1, "x"],
      [-center, ""]
    ])}| ${isStrict ? "<" : "\\leq"} ${radius}$. Give an interval.`,
    answer: `${open}${center - radius}, ${center + radius}${close}`
  }
}

export const expansion: Draw = (random) => {
  const [a, b, c, d] = [random.between(1, 5), nonZero(random, 9), random.between(1, 5), nonZero(random, 9)]
  return {
    problem: `Expand $(${terms([
      [a, "x"],
      [b, ""]
    ])})(${terms([
      [c, "x"],
      [d, ""]
    ])})$.`,
    answer: terms([
      [a * c, "x^2"],
      [a * d + b * c, "x"],
      [b * d, ""]
    ]),
    form: "expanded"
  }
}

/** The root of a square times a square-free factor. */
export const radical: Draw = (random) => {
  const [factor, rest] = [random.between(2, 12), random.pick([2, 3, 5, 6, 7, 10, 11])]
  return {
    problem: `Simplify $\\sqrt{${factor * factor * rest}}$.`,
    answer: `${factor}\\sqrt{${rest}}`,
    form: "radical"
  }
}

const complex = (real: number, imaginary: number): string =>
  terms([
    [real, ""],
    [imaginary, "i"]
  ])

export const complexProduct: Draw = (random) => {
  const [a, b, c, d] = [nonZero(random, 7), nonZero(random, 7), nonZero(random, 7), nonZero(random, 7)]
  return {
    problem: `Compute $(${complex(a, b)})(${complex(c, d)})$, where $i^2 = -1$.`,
    answer: complex(a * c - b * d, a * d + b * c),
    form: "expanded"
  }
}

export const determinant: Draw = (random) => {
  const [a, b, c, d] = [nonZero(random, 9), nonZero(random, 9), nonZero(random, 9), nonZero(random, 9)]
  return {
    problem: `Find the determinant of $\\begin{pmatrix} ${a} & ${b} \\\\ ${c} & ${d} \\end{pmatrix}$.`,
    answer: String(a * d - b * c),
    form: "number"
  }
}
