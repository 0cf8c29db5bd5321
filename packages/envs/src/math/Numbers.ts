/** Problems about numbers: fractions, divisors, remainders, series, counting, probability. */
import { type Draw, fraction, greatestDivisor } from "./Problem.ts"

export const fractionSum: Draw = (random) => {
  const [a, b, c, d] = [random.between(1, 9), random.between(2, 12), random.between(1, 9), random.between(2, 12)]
  const sign = random.pick([1, -1])
  return {
    problem: `Compute $\\frac{${a}}{${b}} ${sign === 1 ? "+" : "-"} \\frac{${c}}{${d}}$ as a fraction in lowest terms.`,
    answer: fraction(a * d + sign * c * b, b * d),
    form: "number"
  }
}

/** The greatest common divisor, or the least common multiple. */
export const divisors: Draw = (random) => {
  const common = random.between(2, 15)
  const [a, b] = [common * random.between(2, 12), common * random.between(2, 12)]
  const divisor = greatestDivisor(a, b)
  const wantsDivisor = random.chance(0.5)
  return {
    problem: `Find the ${wantsDivisor ? "greatest common divisor" : "least common multiple"} of ${a} and ${b}.`,
    answer: String(wantsDivisor ? divisor : (a * b) / divisor),
    form: "number"
  }
}

export const powerRemainder: Draw = (random) => {
  const [base, exponent, modulus] = [random.between(2, 9), random.between(5, 30), random.between(3, 13)]
  let remainder = 1
  for (let factor = 0; factor < exponent; factor++) remainder = (remainder * base) % modulus
  return {
    problem: `What is the remainder when $${base}^{${exponent}}$ is divided by ${modulus}?`,
    answer: String(remainder),
    form: "number"
  }
}

export const series: Draw = (random) => {
  const [first, step, count] = [random.between(1, 15), random.between(2, 9), random.between(5, 40)]
  const last = first + step * (count - 1)
  return {
    problem: `Find the sum $${first} + ${first + step} + ${first + 2 * step} + \\cdots + ${last}$ of an arithmetic series.`,
    answer: String((count * (first + last)) / 2),
    form: "number"
  }
}

export const geometricSeries: Draw = (random) => {
  const first = random.between(1, 12)
  const below = random.between(2, 7)
  const above = random.between(1, below - 1)
  const ratio = fraction(above, below)
  return {
    problem: `Find the sum of the infinite geometric series with first term ${first} and ratio $${ratio}$.`,
    answer: fraction(first * below, below - above),
    form: "number"
  }
}

const binomial = (n: number, k: number): number => {
  let value = 1
  for (let i = 1; i <= k; i++) value = (value * (n - k + i)) / i
  return value
}

/** The number of ways to choose some of a group. */
export const combinations: Draw = (random) => {
  const n = random.between(5, 14)
  const k = random.between(2, Math.min(6, n - 1))
  return {
    problem: `In how many ways can a committee of ${k} be chosen from ${n} people?`,
    answer: String(binomial(n, k)),
    form: "number"
  }
}

/** The probability of a sum of two dice. */
export const dice: Draw = (random) => {
  const sum = random.between(2, 12)
  return {
    problem: `Two fair six-sided dice are rolled. What is the probability that the sum is ${sum}? Give a fraction in lowest terms.`,
    answer: fraction(6 - Math.abs(7 - sum), 36),
    form: "number"
  }
}

export const percentages: Draw = (random) => {
  const price = 20 * random.between(2, 40)
  const [rise, fall] = [5 * random.between(1, 10), 5 * random.between(1, 10)]
  return {
    problem: `A price of ${price} euros rises by ${rise}\\% and then falls by ${fall}\\%. What is it then, in euros?`,
    answer: String((price * (100 + rise) * (100 - fall)) / 10_000),
    form: "number"
  }
}
