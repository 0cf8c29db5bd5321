/**
 * Parses units, currencies, percent and number words around a quantity.
 *
 * A unit is removed and recorded: an answer without its unit is still right, one with another unit is not. Number words
 * (`million`) change the value; percent is handled by the comparison.
 */
import * as Exact from "./expression/Exact.ts"
import * as Wording from "../text/Wording.ts"

/** A quantity's number as LaTeX, its scale, its normalized unit, and whether it is in percent. */
export interface Quantity {
  readonly number: string
  readonly scale: Exact.Rational
  readonly unit: string | undefined
  readonly isPercent?: boolean
}

const synonyms: Record<string, ReadonlyArray<string>> = {
  mm: ["mm", "millimeter", "millimetre"],
  cm: ["cm", "centimeter", "centimetre"],
  m: ["m", "meter", "metre"],
  km: ["km", "kilometer", "kilometre"],
  in: ["in", "inch", "inche"],
  ft: ["ft", "foot", "feet"],
  yd: ["yd", "yard"],
  mi: ["mi", "mile"],
  mg: ["mg", "milligram"],
  g: ["g", "gram"],
  kg: ["kg", "kilogram", "kilo"],
  lb: ["lb"],
  pound: ["pound"],
  oz: ["oz", "ounce"],
  gal: ["gal", "gallon"],
  L: ["L", "l", "liter", "litre"],
  mL: ["mL", "ml", "milliliter", "millilitre"],
  s: ["s", "sec", "second"],
  min: ["min", "minute"],
  h: ["h", "hr", "hour"],
  day: ["day"],
  week: ["week"],
  month: ["month"],
  year: ["year", "yr"],
  degree: ["degree", "deg", "°", "^\\circ"],
  radian: ["radian", "rad"],
  $: ["\\$", "$", "dollar", "USD", "buck"],
  cent: ["cent", "¢"],
  "€": ["€", "euro", "EUR"],
  "£": ["£", "GBP"],
  yuan: ["yuan", "RMB", "元"],
  yen: ["yen", "JPY", "円"],
  won: ["원", "KRW"],
  "₹": ["₹", "rupee", "INR", "Rs"],
  CHF: ["CHF", "franc"],
  unit: ["unit"],
  mph: ["mph", "mi/h"],
  "km/h": ["km/h", "kmh", "kph"],
  "m/s": ["m/s"],
  J: ["J", "joule"],
  N: ["N", "newton"],
  W: ["W", "watt"],
  V: ["V", "volt"],
  Hz: ["Hz", "hertz"],
  A: ["A", "ampere", "amp"],
  mol: ["mol", "mole"],
  Pa: ["Pa", "pascal"],
  ohm: ["ohm"],
  // Without its s, like a plural.
  c: ["celsius", "celsiu", "degree celsius", "degree c"],
  f: ["fahrenheit", "degree fahrenheit", "degree f"],
  microm: ["microm", "micrometer", "micrometre", "micron"]
}

const spellings = new Map(
  Object.entries(synonyms).flatMap(([unit, words]) => words.map((word) => [word, unit] as const))
)

/** True if a word is a unit's sign or name; the case of single letters counts: `5M` is no length. */
export const isUnit = (word: string): boolean =>
  spellings.has(word) || (word.length > 1 && spellings.has(singular(word.toLowerCase())))

const powers: Record<string, string> = { square: "^2", sq: "^2", squared: "^2", cubic: "^3", cubed: "^3", cu: "^3" }

const bareWords = [...spellings.keys()]
  .filter((word) => /^[a-zA-Z/]{2,}$/.test(word) && word !== "Pa")
  .toSorted((x, y) => y.length - x.length)
  .join("|")

/** Units that may follow a number without `\text`; single letters would be unknowns, except for `m^2` and the like. */
const bareUnit = new RegExp(
  `^(.*?[\\d})])\\s*((?:square |sq\\.? |cubic |cu\\.? )?(?:${bareWords})(?:e?s)?(?:\\s*\\^\\s*\\{?[23]\\}?)?|m\\s*\\^\\s*\\{?[23]\\}?)$`
)

const numberWords: Record<string, Exact.Rational> = {
  dozen: Exact.fromInteger(12),
  hundred: Exact.fromInteger(100),
  thousand: Exact.fromInteger(1_000),
  lakh: Exact.fromInteger(100_000),
  crore: Exact.fromInteger(10_000_000),
  million: Exact.fromInteger(1_000_000),
  billion: Exact.fromInteger(1_000_000_000),
  trillion: Exact.fromInteger(1_000_000_000_000)
}

const singular = (word: string): string => (word.length > 2 ? word.replace(/(?<!s)s$/, "") : word)

/** `square centimetres`, `cm^{2}` and `cm²` are `cm^2`; unknown words are kept, in the singular. */
const canonicalUnit = (text: string): string | undefined => {
  const compact = text
    .replaceAll(/\\text\{([^{}]*)\}/g, " $1 ")
    .replaceAll(/\^\s*(?:\{\s*)?([23])(?:\s*\}|\s*)/g, " ^$1")
    .replaceAll(/[.,{}\\]|(?<!\s)\s+per\s+|(?<!\s)\s*\/\s*/g, (match) => (/per|\//.test(match) ? "/" : " "))
  const words = compact.split(/\s+/).filter((word) => word !== "")
  let exponent = ""
  const names: Array<string> = []
  for (const word of words) {
    const isKnownExponent = word.startsWith("^") || Object.hasOwn(powers, word.toLowerCase())
    if (isKnownExponent) exponent = word.startsWith("^") ? word : (powers[word.toLowerCase()] ?? "")
    else {
      names.push(
        word
          .split("/")
          .map(
            (part) =>
              spellings.get(singular(part)) ??
              spellings.get(singular(part.toLowerCase())) ??
              singular(part.toLowerCase())
          )
          .join("/")
      )
    }
  }
  const unit = names.join(" ") + exponent
  return names.length === 0 ? undefined : (spellings.get(unit) ?? unit)
}

const currencyBefore = /^([+-]?)\s*(\\\$|[€£¥₹]|(?:Rs|INR|CHF|USD|EUR)(?=[.\s\d])\.?)\s*(?=[\d.\\]|-\d)/
const currencyAfter = /(?<!\s)\s*(\\\$|[€£¥₹¢円元원])$/
const degreesAfter = /(?<!\s)\s*\^\s*\\circ\s*$/
const temperature = /(?<!\s)\s*\^\s*\\circ\s*(?=[CF]$)/
const percentAfter =
  /(?<!\s)\s*(?:\\%|%|\\text\{\s*(?:per\s?cent(?:age)?|pct|%)\s*\}|(?<=[\d})\s])(?:per\s?cent(?:age)?|pct))\s*$/i
/** The noun after a percentage: "30% increase". Not a decrease: its number would be negative. */
const shareAfter =
  /^(.*[\d})])\s*(?:\\%|%|(?:per\s?cent|pct)(?![a-zA-Z]))\s*(?:\\text\{\s*)?(increase|growth|gain|rise|profit|interest|chance|probability|likelihood|discount|off|markup|tip|tax|commission)\s*\}?$/i
const wordAfter =
  /^(.*[\d})])\s*(?:\\text\{\s*)?(dozen|hundred|thousand|lakh|crore|million|billion|trillion)s?\b\s*(?:\}|(?=\s|$))(.*)$/is
/** Counted things without `\text`: "12 apples". */
const thingsAfter = /^(.*[\d})])\s+(?=[a-zA-Z])(?=[a-zA-Z\s]*[a-zA-Z]{4})([a-zA-Z]{2,}(?:\s+[a-zA-Z]{2,}){0,3})$/
/** "18 a day", "18/day": rates, whose words are too short for `thingsAfter`. */
const rateAfter =
  /^(.*[\d})])((?:\s[a-zA-Z]{2,20}){0,2})(?:\s?\/\s?|\s(?:per|an?|every|each)\s)(?:\\text\{)?(day|hour|hr|week|month|year|min|sec|person|night)\}?$/
const textAfter = /^(.*[^\s])\s*\\text\{([^{}a-zA-Z]*[a-zA-Z][^{}]*)\}(?:\s*(\^\s*(?:\{\s*)?[23](?:\s*\})?))?\s*$/

/** Words, optionally separated by slashes; a sign before them would belong to the number, as in `5\text{! km}`. */
const unitText = /^\s*[a-zA-Z(][a-zA-Z\s.,'()-]*(?:\/\s*[a-zA-Z][a-zA-Z\s.]*){0,3}$/
/** Words that are not units of counting. */
const particles = /^(?:is|are|for|when|to|by|out|of|per|in|on|at|with|as|the|an?|where|so|that|this|it)$/i

/**
 * A unit is a few words without numbers; words that deny, hedge or compute must not pass as one: "or maybe 6",
 * "squared", "tenths".
 */
const isUnitName = (text: string): boolean =>
  text.length <= 60 &&
  unitText.test(text) &&
  (text.trim() === "in" ||
    text.split(/[\s/]+/).some((word) => word === "A" || (word !== "" && !particles.test(word)))) &&
  // `5\text{i km}` contains an unknown, or a constant.
  !(/^[a-zA-Z]\s+\S/.test(text) && !spellings.has(text[0] ?? "")) &&
  text.trim().split(/\s+/).length <= 5 &&
  !/(?<![a-zA-Z])(?:max|maximum|minimum|upwards?|onwards?|tops)(?![a-zA-Z])/i.test(text) &&
  (Wording.isNeutral(withoutCounting(text)) || isPowerOfUnit(text))

/** "different ways" and "more apples" count like plain ones, and so do times. */
const withoutCounting = (text: string): string =>
  text
    .replace(/(?<![a-zA-Z])(?:more|different)\s+(?!than|from)(?=[a-zA-Z])/i, "")
    .replace(/(?<![a-zA-Z])times\s*$/i, "")

/** `cm squared`: a power of a known unit. */
const isPowerOfUnit = (text: string): boolean => {
  const [, word = ""] = /^\s*([a-zA-Z]+)\s+(?:squared|cubed)\s*$/.exec(text) ?? []
  return spellings.has(word) || spellings.has(singular(word.toLowerCase()))
}

/** Converts degrees inside trigonometric functions to radians: `\sin(30^\circ)` is `\sin((\frac{30\pi}{180}))`. */
export const inRadians = (text: string): string =>
  !text.includes("\\circ") || !/\\(?:sin|cos|tan|cot|sec|csc)(?![a-zA-Z])/.test(text)
    ? text
    : text.replaceAll(
        /((?<!\d)\d+(?:\.\d+)?|\([^()]*\)|\\frac\{[^{}]*\}\{[^{}]*\}|\\(?:alpha|beta|gamma|delta|theta|phi|varphi|psi|omega|pi)|(?<![\\a-zA-Z])[a-zA-Z])\s*\^\s*(?:\\circ(?![a-zA-Z])|\{\s*\\circ\s*\})/g,
        String.raw`(\frac{$1\pi}{180})`
      )

const inverse =
  /^(.*[\d})])\s?(?:\\text\{\s?)?([a-zA-Z]{1,4})\s?\}?\s?(?:\\cdot\s?|\s)(?:\\text\{\s?)?([a-zA-Z]{1,4})\s?\}?\s?\^\s?\{?\s?-\s?([123])\s?\}?\s?\}?$/

const innerPower = /\\text\{([a-zA-Z/\s]{1,20})\^\s?\{?\s?([23])\s?\}?\s?\}$/

/** `7.5 m s^{-1}` with the unit `m/s`, and `\text{m/s^2}` with the power outside. */
const withSlash = (given: string): string => {
  const number = given.replace(innerPower, "\\text{$1}^$2")
  const [, before = "", unit = "", over = "", power = "1"] = inverse.exec(number) ?? []
  if (before === "" || !isUnit(unit) || !isUnit(over)) return number
  return `${before}\\text{ ${unit}/${over}}${power === "1" ? "" : `^${power}`}`
}

const one = Exact.one

/** Splits scale and unit from a leaf. A leaf of text only is kept. */
export const quantity = (leaf: string): Quantity => {
  let number = leaf.trim()
  let scale = one
  let unit: string | undefined
  const before = currencyBefore.exec(number)
  if (before !== null) {
    unit = canonicalUnit(before[2] ?? "")
    number = `${before[1]}${number.slice(before[0].length)}`
  }
  number = number.replace(temperature, " ^\\circ \\text{ ").replace(/(?<=\^\\circ \\text\{ )[CF]$/, "$&}")
  number = withSlash(number).replace(rateAfter, "$1 \\text{$2 per $3}").replace(thingsAfter, "$1 \\text{ $2}")
  const text = textAfter.exec(number)
  const word = wordAfter.exec(number)
  if (word !== null) {
    const factor = numberWords[(word[2] ?? "").toLowerCase()]
    const rest = (word[3] ?? "").replace(/^[\s}]+/, "").replace(/(?<![\s{])[\s{]+$/, "")
    return factor === undefined
      ? { number, scale, unit }
      : { number: word[1] ?? "", scale: factor, unit: rest === "" ? unit : canonicalUnit(rest) }
  }
  const share = shareAfter.exec(number)
  if (share !== null) {
    return { number: share[1] ?? "", scale: one, unit: (share[2] ?? "").toLowerCase(), isPercent: true }
  }
  if (percentAfter.test(number)) {
    return { number: number.replace(percentAfter, ""), scale: one, unit, isPercent: true }
  }
  if (text !== null && /[\da-zA-Z})]$/.test(text[1] ?? "") && isUnitName(text[2] ?? "")) {
    unit = canonicalUnit(`${text[2]} ${text[3] ?? ""}`)
    number = text[1] ?? ""
    // Degrees Celsius are written as degrees of C.
    if (degreesAfter.test(number)) number = number.replace(degreesAfter, "")
  } else if (degreesAfter.test(number)) {
    unit = "degree"
    number = number.replaceAll(/(?<!\s)\s*\^\s*\\circ(?![a-zA-Z])/g, "")
  } else if (currencyAfter.test(number)) {
    unit = canonicalUnit(currencyAfter.exec(number)?.[1] ?? "")
    number = number.replace(currencyAfter, "")
  } else {
    const bare = bareUnit.exec(number)
    if (bare !== null) {
      unit = canonicalUnit(bare[2] ?? "")
      number = bare[1] ?? ""
    }
  }
  return { number: number.trim(), scale, unit }
}

/** Units that have one name or sign. */
const shared: { readonly [unit: string]: ReadonlyArray<string> } = { pound: ["lb", "£"], "¥": ["yuan", "yen"] }

/** True if two units match: equal, or one of them omitted. */
export const areCompatible = (a: string | undefined, b: string | undefined): boolean =>
  a === undefined || b === undefined || a === b || shared[a]?.includes(b) === true || shared[b]?.includes(a) === true
