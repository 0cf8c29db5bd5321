/**
 * Reads English numbers in words next to the same number in digits: "12 (twelve)" and "twelve (12)" are 12. Words alone
 * are not a number: an answer in words is compared as text.
 */
const ones =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " "
  )
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ")
const scales: ReadonlyMap<string, bigint> = new Map([
  ["dozen", 12n],
  ["thousand", 1_000n],
  ["million", 1_000_000n],
  ["billion", 1_000_000_000n]
])

const word = `(?:${[...ones, ...tens, "hundred", ...scales.keys()].join("|")})`
const phrase = `(?:(?:minus|negative)\\s)?${word}(?:(?:\\s|-|\\sand\\s)${word}){0,24}`
/** The value of number words, as digits; undefined if they do not form one number. */
const digitsOf = (words: string): string | undefined => {
  const [first = "", ...more] = words.toLowerCase().split(/[\s-]+/)
  const isNegative = first === "minus" || first === "negative"
  let [total, part, last] = [0n, 0n, Number.POSITIVE_INFINITY]
  for (const one of (isNegative ? more : [first, ...more]).filter((name) => name !== "and")) {
    const scale = scales.get(one)
    const [unit, ten] = [ones.indexOf(one), tens.indexOf(one)]
    if (scale !== undefined) {
      if (part === 0n || (total !== 0n && total % (scale * 1_000n) !== 0n)) return undefined
      ;[total, part, last] = [total + part * scale, 0n, Number.POSITIVE_INFINITY]
    } else if (one === "hundred") {
      if (part === 0n || part > 99n) return undefined
      ;[part, last] = [part * 100n, 100]
    } else {
      const value = unit >= 0 ? unit : (ten + 2) * 10
      const room = last === 100 || last === Number.POSITIVE_INFINITY ? 100 : last >= 20 ? 10 : 0
      if (value >= room || (value === 0 && last !== Number.POSITIVE_INFINITY)) return undefined
      ;[part, last] = [part + BigInt(value), value]
    }
  }
  return (isNegative ? "-" : "") + (total + part).toString()
}

const start = new RegExp(`^(${phrase})(?![a-zA-Z-])`, "i")

/** The number whose words a text begins with, as digits. */
export const atStart = (text: string): string | undefined => {
  const [, words] = start.exec(text) ?? []
  return words === undefined ? undefined : digitsOf(words)
}

/** "Twelve (12) apples" as "12 apples"; any other statement as it is. */
export const withoutWords = (statement: string): string => {
  const [match = "", currency = "", number = "", percent = ""] =
    /^[a-zA-Z\s-]{3,80}\s\((\\?[$€£])?(-?\d[\d,]{0,20})(\s?\\?%|\spercent)?\)/.exec(statement) ?? []
  return match !== "" && atStart(match) === number.replaceAll(",", "")
    ? currency + number + percent + statement.slice(match.length)
    : statement
}

const explained = /^([^()]{0,40}?(-?\d[\d,]*)[^()\d]{0,20}?)\s*\(([a-zA-Z\s-]{3,80})\)([a-zA-Z\s]{0,40})$/

const maxLength = 200

const summed = /((?<![\d.,\\^])(\d[\d.,]{0,20})[^()\d\\]{0,20}?)\s\(([\d\s$.,+*/×·÷−-]{3,80})\)/g
const operation = /^\d+(?:\.\d+)?(?:[-+*/]\d+(?:\.\d+)?)+$/

const product = (term: string): number =>
  term.split("*").reduce((value, factor) => {
    const [first = 1, ...divisors] = factor.split("/").map(Number)
    return divisors.reduce((all, one) => all / one, value * first)
  }, 1)

/** The value of sums and products of numbers, in the usual order; NaN for anything else. */
const valueOf = (calculation: string): number => {
  const plain = calculation
    .replaceAll(/[\s$,]/g, "")
    .replaceAll(/[×·]/g, "*")
    .replaceAll("÷", "/")
    .replaceAll("−", "-")
  if (!operation.test(plain)) return Number.NaN
  const terms = plain.match(/[-+]?[^-+]+/g) ?? []
  return terms.reduce((sum, term) => sum + (term.startsWith("-") ? -1 : 1) * product(term.replace(/^[-+]/, "")), 0)
}

/** "72 (48 + 24)" as "72", anywhere in a text. */
export const withoutSums = (text: string): string =>
  text.replaceAll(summed, (whole, before: string, number: string, calculation: string) =>
    valueOf(calculation) === Number(number.replaceAll(",", "")) ? before : whole
  )

/** "12 (twelve)" as "12", and "72 (48 + 24)" as "72"; any other answer as it is. */
export const withoutExplanation = (whole: string): string => {
  if (whole.length > maxLength) return whole
  const answer = withoutSums(whole)
  const [, before = "", number = "", words = "", behind = ""] = explained.exec(answer) ?? []
  return before !== "" && atStart(words) === number.replaceAll(",", "") ? before + behind : withoutWords(answer)
}
