/**
 * Computes F1 over words, and DROP's exact match and F1 over spans.
 *
 * `squad`: lower case, no ASCII punctuation, no articles (Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250).
 * `drop`: the official evaluation (Dua et al. 2019, https://arxiv.org/abs/1903.00161, Apache-2.0), as in
 * lm-evaluation-harness: numbers as numbers, spans matched one to one for the greatest F1, a span with a number that
 * the other lacks scores 0, F1 in hundredths.
 */
import { normalise } from "./Normalise.ts"

const counts = (words: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const word of words) found.set(word, (found.get(word) ?? 0) + 1)
  return found
}

const wordsOf = (text: string): ReadonlyArray<string> =>
  normalise(text, ["lower", "punctuation", "articles", "spaces"])
    .split(" ")
    .filter((word) => word !== "")

export const squad = (answer: string, gold: string): number => {
  const [reply, target] = [wordsOf(answer), wordsOf(gold)]
  const inGold = counts(target)
  let common = 0
  for (const [word, count] of counts(reply)) common += Math.min(count, inGold.get(word) ?? 0)
  if (reply.length === 0 || target.length === 0) return reply.length === target.length ? 1 : 0
  return common === 0 ? 0 : (2 * common) / (reply.length + target.length)
}

/** Accepts the same texts as Python's `float`. */
const isNumber = (text: string): boolean =>
  /^\s*[+-]?(?:(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?|inf(?:inity)?|nan)\s*$/i.test(
    text
  )

/** Formats like Python's `str(float(…))`. */
const asFloat = (text: string): string => {
  const plain = text.trim().replaceAll("_", "").toLowerCase()
  const named = /^([+-]?)(inf|nan)/.exec(plain)
  if (named !== null) return named[2] === "nan" ? "nan" : `${named[1] === "-" ? "-" : ""}inf`
  const value = Number(plain)
  if (Object.is(value, -0)) return "-0.0"
  const size = Math.abs(value)
  if (Number.isInteger(value) && size < 1e16) return `${value}.0`
  if (size >= 1e16 || size < 1e-4) {
    const [mantissa = "", exponent = ""] = value.toExponential().split("e")
    const power = Number(exponent)
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
  }
  return String(value)
}

const dropNormal = (text: string): string =>
  text
    .split(/[ -]/)
    .map((token) => {
      const lower = token.toLowerCase()
      const bare = isNumber(lower) ? lower : normalise(lower, ["punctuation"])
      return normalise(isNumber(bare) ? asFloat(bare) : bare, ["articles", "spaces"])
    })
    .filter((token) => token.trim() !== "")
    .join(" ")
    .trim()

const bagOf = (span: string): ReadonlySet<string> => new Set(span.split(/\s+/).filter((word) => word !== ""))

const bagF1 = (reply: ReadonlySet<string>, target: ReadonlySet<string>): number => {
  const numbers = [...target].filter(isNumber)
  if (numbers.length > 0 && !numbers.some((number) => reply.has(number))) return 0
  const common = [...target].filter((word) => reply.has(word)).length
  const precision = reply.size === 0 ? 1 : common / reply.size
  const recall = target.size === 0 ? 1 : common / target.size
  return precision === 0 && recall === 0 ? 0 : (2 * precision * recall) / (precision + recall)
}

/** NumPy's `round(value, 2)`: halves to the even neighbour. */
const inHundredths = (value: number): number => {
  const scaled = value * 100
  const below = Math.floor(scaled)
  return (scaled - below === 0.5 ? below + (below % 2) : Math.round(scaled)) / 100
}

/** DROP's scores of a one-span answer, against the spans of one reference. */
export const drop = (answer: string, gold: ReadonlyArray<string>): { readonly em: number; readonly f1: number } => {
  const reply = dropNormal(answer)
  const target = gold.map(dropNormal)
  // The answer is one span, so the best matching is the best single one.
  const best = Math.max(0, ...target.map((span) => bagF1(bagOf(reply), bagOf(span))))
  return {
    em: target.length === 1 && target[0] === reply ? 1 : 0,
    f1: inHundredths(best / Math.max(1, target.length))
  }
}
