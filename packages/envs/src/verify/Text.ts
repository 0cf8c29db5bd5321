/**
 * Judges text answers: equality after normalisation, or similarity (edit distance, shared words).
 *
 * Normalisation is that of SQuAD (Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250, and its evaluation script):
 * lower case, no punctuation, no articles, single spaces, Unicode in composed form. Unlike there, the signs of `C++`,
 * `A+` and `x < 5` count.
 */
import * as NumberAnswer from "./Number.ts"

const maxEditLength = 2_000

/** Signs that distinguish names and statements, and the words they are compared as: `C++`, `F#`, `A+`, `x < 5`. */
const signs: ReadonlyArray<readonly [sign: RegExp, word: string | ((sign: string) => string)]> = [
  [/<\/?[a-z][a-z\d]{0,20}\s?\/?>/g, " "],
  [/(?<=\p{L})\+\+(?![\p{L}\p{N}])/gu, " plusplus "],
  [/(?<=\p{L})#(?![\p{L}\p{N}])/gu, " sharp "],
  [/(?<=(?<!\p{L})\p{L}{1,2})\+(?=[\s.,;:)*"']|$)/gu, " plus "],
  [/(?<=(?<!\p{L})\p{L}{1,2})[-\u2212](?=[\s.,;:)*"']|$)/gu, " minus "],
  // Initials: `U.S.A.`, `p.m.`
  [/(?<![\p{L}\p{N}.])(?:\p{L}{1,2}\.){2,10}/gu, (initials) => initials.replaceAll(".", "")],
  [/(?<=[\p{L}\p{N})]\s?)\+(?=\s?[\p{L}\p{N}(])/gu, " plus "],
  [/(?<=[\p{L}\p{N})]\s?)=(?=\s?[-\p{L}\p{N}(])/gu, " equals "],
  [/<=|≤/g, " atmost "],
  [/>=|≥/g, " atleast "],
  [/</g, " less "],
  [/(?<![-=])>(?=\s?[\p{L}\p{N}-])(?<=[\p{L}\p{N})]\s?>)/gu, " more "]
]

const articles = /\b(?:a|an|the)\b/g
const spaces = /\s+/g

/** `The  Eiffel-Tower!` is `the eiffel tower`. */
const words = (text: string): string =>
  signs
    .reduce(
      // Both forms of replacement, which have an overload each.
      (written, [sign, word]) =>
        typeof word === "string" ? written.replaceAll(sign, word) : written.replaceAll(sign, word),
      text.normalize("NFKC").toLowerCase()
    )
    .replaceAll(/[\p{P}\p{S}]+/gu, " ")
    .replaceAll(spaces, " ")
    .trim()

/** `The  Eiffel-Tower!` is `eiffel tower`. */
export const normalise = (text: string): string => words(text).replaceAll(articles, " ").replaceAll(spaces, " ").trim()

const maxNumberLength = 100
const numberStart = /^[\s"'“”‘’`*#:(]+/
const numberEnd = /(?<![\s"'“”‘’`*)%.!])[\s"'“”‘’`*)%.!]+$/

/**
 * A number alone, optionally with quotes, brackets, a percent sign or a full stop around it, and spaces as separators.
 */
const bareNumber = (text: string): string => {
  if (text.length > maxNumberLength) return ""
  const bare = NumberAnswer.asciiSigns(text)
    .normalize("NFKC")
    .replace(numberStart, "")
    .replace(numberEnd, "")
    .replaceAll(/(?<=\d)\s(?=\d{3}(?!\d))/g, "")
  return /\d\s+\d/.test(bare) ? "" : bare
}

const signEnd = /(?<![\s"'“”‘’`*).])[\s"'“”‘’`*).]+$/

/** A text that is only a letter or signs, `A` or `+`, without quotes, brackets and a full stop around it. */
const bareSign = (text: string): string => {
  if (text.length > maxNumberLength) return ""
  const sign = text.replace(numberStart, "").replace(signEnd, "").normalize("NFKC").toLowerCase()
  return /[a-z]{2}/.test(sign) ? "" : sign
}

/**
 * True if two texts are equal after normalisation, or as numbers if the first is one: a sign or a decimal point is not
 * punctuation. Nothing equals an empty text.
 */
export const equivalent = (gold: string, prediction: string): boolean => {
  const number = bareNumber(gold)
  if (NumberAnswer.parse(number) !== undefined) return NumberAnswer.equivalent(number, bareNumber(prediction))
  const expected = normalise(gold)
  if (expected !== "") return expected === normalise(prediction)
  // Only articles.
  const article = words(gold)
  if (article !== "") return article === words(prediction)
  const sign = bareSign(gold)
  return sign !== "" && sign === bareSign(prediction)
}

/**
 * Insertions, deletions and replacements of characters that turn one text into the other (Levenshtein), in O(|a| ·
 * |b|).
 */
export const editDistance = (a: string, b: string): number => {
  const [x, y] = [Array.from(a), Array.from(b)]
  let previous = Uint32Array.from({ length: y.length + 1 }, (_, j) => j)
  for (let i = 1; i <= x.length; i++) {
    const current = new Uint32Array(y.length + 1)
    current[0] = i
    for (let j = 1; j <= y.length; j++) {
      const replaced = previous[j - 1]! + (x[i - 1] === y[j - 1] ? 0 : 1)
      current[j] = Math.min(previous[j]! + 1, current[j - 1]! + 1, replaced)
    }
    previous = current
  }
  return previous[y.length]!
}

/**
 * 1 - edit distance / length of the longer text, after normalisation: 1 is equal; 0 for an empty text or one beyond
 * 2,000 characters.
 */
export const similarity = (gold: string, prediction: string): number => {
  const [a, b] = [normalise(gold), normalise(prediction)]
  const longer = Math.max(Array.from(a).length, Array.from(b).length)
  if (a === "" || b === "" || longer > maxEditLength) return 0
  return 1 - editDistance(a, b) / longer
}

/**
 * Harmonic mean of precision and recall over the words of both texts, after normalisation, counting repetitions
 * (SQuAD's F1).
 */
export const tokenF1 = (gold: string, prediction: string): number => {
  const [wanted, given] = [gold, prediction].map((text) =>
    normalise(text)
      .split(" ")
      .filter((word) => word !== "")
  )
  if (wanted === undefined || given === undefined || wanted.length === 0 || given.length === 0) return 0
  const left = new Map<string, number>()
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1)
  let shared = 0
  for (const word of given) {
    const count = left.get(word) ?? 0
    if (count > 0) shared += 1
    left.set(word, count - 1)
  }
  return (2 * shared) / (wanted.length + given.length)
}
