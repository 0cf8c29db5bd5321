/** Questions about numbers: arithmetic, comparison, sequences, units. */
import { type Draw, near } from "./Question.ts"

/** Sums, differences (which may be negative) and products of numbers up to `largest`. */
export const arithmetic =
  (largest: number): Draw =>
  (random, choices) => {
    const operator = random.pick(["+", "-", "*"])
    const max = operator === "*" ? Math.min(largest, 12) : largest
    const [left, right] = [random.between(operator === "*" ? 1 : 0, max), random.between(operator === "*" ? 1 : 0, max)]
    const value = operator === "+" ? left + right : operator === "-" ? left - right : left * right
    const slips = operator === "*" ? [left, right, 1, 2] : largest > 20 ? [1, 2, 9, 10, 11] : [1, 2, 3]
    return {
      question: `What is ${left} ${operator === "*" ? "×" : operator} ${right}?`,
      compact: `${left}${operator}${right}`,
      right: String(value),
      wrong: near(random, value, choices - 1, slips, operator === "-" ? Number.NEGATIVE_INFINITY : 0)
    }
  }

/** A number with up to two decimals, `2.5`. */
const decimal = (hundredths: number): string => String(hundredths / 100)

/** The largest or smallest of several numbers: integers, or decimals of different lengths. */
export const comparison =
  (largest: number): Draw =>
  (random, choices) => {
    const isWhole = random.chance(0.5)
    const drawn = new Set<number>()
    while (drawn.size < choices) drawn.add(random.between(0, isWhole ? Math.max(largest, 2 * choices) : 300))
    const sorted = Array.from(drawn).toSorted((one, other) => one - other)
    const wantsLargest = random.chance(0.5)
    const [right, ...wrong] = (wantsLargest ? sorted.toReversed() : sorted).map(isWhole ? String : decimal)
    return {
      question: `Which of these numbers is the ${wantsLargest ? "largest" : "smallest"}?`,
      compact: wantsLargest ? "max" : "min",
      right: right!,
      wrong
    }
  }

/** The next number of an arithmetic or geometric sequence. */
export const sequence: Draw = (random, choices) => {
  const start = random.between(1, 12)
  const step = random.between(2, 9)
  const isGeometric = random.chance(0.3)
  const ratio = random.between(2, 3)
  const terms = [0, 1, 2, 3].map((place) => (isGeometric ? start * ratio ** place : start + step * place))
  const last = terms.at(-1)!
  const next = isGeometric ? last * ratio : last + step
  return {
    question: `Which number comes next: ${terms.join(", ")}?`,
    compact: terms.join(","),
    right: String(next),
    wrong: near(random, next, choices - 1, isGeometric ? [start, last, ratio, 2] : [1, 2, step, 10])
  }
}

const units: ReadonlyArray<readonly [many: string, one: string, factor: number]> = [
  ["minutes", "hour", 60],
  ["seconds", "minute", 60],
  ["hours", "day", 24],
  ["days", "week", 7],
  ["months", "year", 12],
  ["centimetres", "metre", 100],
  ["millimetres", "centimetre", 10],
  ["inches", "foot", 12],
  ["eggs", "dozen", 12]
]

/** The number of smaller units in some larger ones. */
export const conversion: Draw = (random, choices) => {
  const [many, one, factor] = random.pick(units)
  const amount = random.between(2, 12)
  const plural = one === "foot" ? "feet" : one === "dozen" ? one : `${one}s`
  return {
    question: `How many ${many} are there in ${amount} ${plural}?`,
    compact: `${amount}${one}:${many}`,
    right: String(amount * factor),
    // Multiples of the factor, like the right one.
    wrong: near(random, amount * factor, choices - 1, [factor, 2 * factor])
  }
}
