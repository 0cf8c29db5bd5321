/**
 * Writes grammars of JSON strings: their characters as JSON writes them, by count, by set and by format.
 *
 * Control characters, quotes and backslashes are always escaped, and lone surrogates are never written.
 */
import * as Ebnf from "./Ebnf.ts"

const last = 0x10ffff

/** All characters except surrogates. */
export const all: Ebnf.Ranges = [
  [0, 0xd7ff],
  [0xe000, last]
]

/** The ranges that are not in these, in order. */
export const without = (ranges: Ebnf.Ranges, from: Ebnf.Ranges = all): Ebnf.Ranges => {
  const taken = ranges.toSorted(([a], [b]) => a - b)
  return from.flatMap(([first, end]) => {
    const left: Array<readonly [number, number]> = []
    let next = first
    for (const [low, high] of taken) {
      if (high < next || low > end) continue
      if (low > next) left.push([next, low - 1])
      next = Math.max(next, high + 1)
    }
    if (next <= end) left.push([next, end])
    return left
  })
}

const special: Ebnf.Ranges = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c]
]

const short = new Map([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x08, "b"],
  [0x0c, "f"],
  [0x0a, "n"],
  [0x0d, "r"],
  [0x09, "t"]
])

const escapeOf = (code: number): string => `\\${short.get(code) ?? `u${code.toString(16).padStart(4, "0")}`}`

/** One character of a set as written between quotes; undefined for an empty set. */
export const character = (ranges: Ebnf.Ranges): Ebnf.Expression | undefined => {
  const [[low, high] = [-1, -2]] = ranges
  // Long patterns consist of single characters.
  if (ranges.length === 1 && low === high && low > 0x22 && low < 0x5c) return Ebnf.characters(ranges)
  const set = without(without(ranges))
  const plain = without(special, set)
  const escaped: Array<string> = []
  for (const [first, end] of without(without(special), set))
    for (let code = first; code <= end; code++) escaped.push(escapeOf(code))
  return Ebnf.choice([plain.length > 0 ? Ebnf.characters(plain) : undefined, ...escaped.map(Ebnf.literal)])
}

/** A text as written between quotes. */
export const escapeText = (text: string): string => JSON.stringify(text).slice(1, -1)

export const quote = Ebnf.literal('"')

/** Any one character, in every JSON notation. */
export const anyCharacter = (rules: Ebnf.Rules): Ebnf.Expression =>
  rules.named("character", () => {
    const hex = "[0-9a-fA-F]"
    const plain = Ebnf.characters(without(special))
    const pair = `${Ebnf.literal("\\u")} [dD] [89abAB] ${hex}{2} ${Ebnf.literal("\\u")} [dD] [c-fC-F] ${hex}{2}`
    const single = `${Ebnf.literal("\\u")} ([0-9a-cA-CefEF] ${hex}{3} | [dD] [0-7] ${hex}{2})`
    return `${plain} | ${Ebnf.literal("\\")} [\\u0022\\u005c\\u002fbfnrt] | ${single} | ${pair}`
  })

export const ofLength = (rules: Ebnf.Rules, from: number, to: number | undefined): Ebnf.Expression =>
  Ebnf.sequence(quote, rules.counted(anyCharacter(rules), from, to), quote)

const two = "[0-9]{2}"
const [d, hex, alpha, word] = ["[0-9]", "[0-9a-fA-F]", "[a-zA-Z]", "[0-9a-zA-Z]"]
const leap = `(${two} (${Ebnf.literal("0")} [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00")`
const dash = Ebnf.literal("-")
const date = `(${d}{4} ${dash} (("0" [13578] | "1" [02]) ${dash} ("0" [1-9] | [12] [0-9] | "3" [01]) | ("0" [469] | "11") ${dash} ("0" [1-9] | [12] [0-9] | "30") | "02" ${dash} ("0" [1-9] | "1" [0-9] | "2" [0-8])) | ${leap} ${Ebnf.literal("-02-29")})`
const colon = Ebnf.literal(":")
const dot = Ebnf.literal(".")
const hours = `([01] [0-9] | "2" [0-3])`
const minutes = "([0-5] [0-9])"
const time = `(${hours} ${colon} ${minutes} ${colon} ${minutes} (${dot} ${d}{1,9})? ("Z" | [\\u002b\\u002d] ${hours} ${colon} ${minutes}))`
const clock = `("T" (${d}+ "H" (${d}+ "M" (${d}+ "S")?)? | ${d}+ "M" (${d}+ "S")? | ${d}+ "S"))`
const days = `(${d}+ "Y" (${d}+ "M" (${d}+ "D")?)? | ${d}+ "M" (${d}+ "D")? | ${d}+ "D")`
const label = `(${word} ([0-9a-zA-Z\\u002d]{0,61} ${word})?)`
const hostname = `(${label} (${dot} ${label}){0,3})`
const byte = `([0-9] | [1-9] [0-9] | "1" ${two} | "2" [0-4] [0-9] | "25" [0-5])`
const ipv4 = `(${byte} (${dot} ${byte}){3})`
const h16 = `${hex}{1,4}`
/** Complete, or with one gap of two or more groups. */
const ipv6 = `(${h16} (${colon} ${h16}){7} | ${[0, 1, 2, 3, 4, 5, 6]
  .map((before) => {
    const head = before === 0 ? Ebnf.empty : `${h16} ${before === 1 ? "" : `(${colon} ${h16}){${before - 1}}`}`
    const max = 6 - before
    const rest = max === 0 ? Ebnf.empty : `(${h16} ${max === 1 ? "" : `(${colon} ${h16}){0,${max - 1}}`})?`
    return `${head} ${Ebnf.literal("::")} ${rest}`
  })
  .join(" | ")})`
const atom = "[0-9a-zA-Z\\u002b\\u002d\\u005f]+"
const path = "[0-9a-zA-Z\\u002d\\u002e\\u005f\\u007e]"

export const formats: { readonly [format: string]: Ebnf.Expression } = {
  date,
  time,
  "date-time": `(${date} "T" ${time})`,
  duration: `("P" (${days} ${clock}? | ${clock} | ${d}+ "W"))`,
  email: `(${atom} (${dot} ${atom})* ${Ebnf.literal("@")} ${label} (${dot} ${label}){1,3})`,
  hostname,
  ipv4,
  ipv6,
  uuid: `(${hex}{8} ${dash} ${hex}{4} ${dash} ${hex}{4} ${dash} ${hex}{4} ${dash} ${hex}{12})`,
  uri: `(${alpha} [0-9a-zA-Z\\u002b\\u002d\\u002e]* ${Ebnf.literal("://")} ${hostname} (${colon} [1-9] [0-9]{0,3})? (${Ebnf.literal("/")} ${path}*)* (${Ebnf.literal("?")} ${path}* (${Ebnf.literal("=")} ${path}*)?)? (${Ebnf.literal("#")} ${path}*)?)`
}
