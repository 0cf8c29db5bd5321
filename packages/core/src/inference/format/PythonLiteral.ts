/**
 * Converts Python literals, as models write them in calls (lists, tuples, dicts, strings, numbers, True, False, None),
 * to JSON text; JSON keywords are accepted too. Linear in the text, and never throws.
 */
import * as PythonString from "../../base/PythonString.ts"
import * as CallJson from "./CallJson.ts"

/** A literal, and the index after it. */
export interface Literal {
  readonly json: string
  readonly end: number
}

const words = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"]
])

const string =
  /(?:[uUrRfF]|[fF][rR]|[rR][fF])?(?:'''(?:[^'\\]|\\[\s\S]|'(?!''))*'''|"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*")/y
const based = /[+-]?0(?:[xX](?:_?[\da-fA-F])+|[oO](?:_?[0-7])+|[bB](?:_?[01])+)/y
const number = /[+-]?(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d+)?/y
const word = /[A-Za-z]+/y

/** Unknown escapes are kept. Undefined for an f-string with expressions. */
const textOf = (literal: string): string | undefined => {
  const [prefix = ""] = /^[a-zA-Z]*/.exec(literal) ?? []
  const quoted = literal.slice(prefix.length)
  const isTriple = /^(?:'''|""")/.test(quoted) && quoted.length >= 6
  const inside = isTriple ? quoted.slice(3, -3) : quoted.slice(1, -1)
  if (/f/i.test(prefix) && /[{}]/.test(inside)) return undefined
  if (/r/i.test(prefix)) return inside
  return PythonString.unescape(isTriple ? `${quoted[0]}${inside}${quoted[0]}` : quoted, (escape) => escape)
}

const basedOf = (text: string): string => {
  const digits = text.replaceAll("_", "").replace(/^[+-]/, "")
  return String(text.startsWith("-") ? -BigInt(digits) : BigInt(digits))
}

/** A number in JSON's form: without underscores, a plus sign, or a point at either end. */
const numberOf = (text: string): string => {
  const plain = text.replaceAll("_", "").replace(/^\+/, "")
  const whole = plain.replace(/^(-?)\./, "$10.").replace(/\.(?=$|[eE])/, ".0")
  return /^-?0\d/.test(whole) ? "" : whole
}

const match = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

const deepest = 100

/** The literal that begins at `from`; undefined if none does. */
export const read = (text: string, from: number, levels = 0): Literal | undefined => {
  const at = CallJson.skipBlanks(text, from)
  const opening = text[at]
  if (levels > deepest || opening === undefined) return undefined
  if (opening === "[" || opening === "(") return list(text, at, opening === "[" ? "]" : ")", levels)
  if (opening === "{") return dict(text, at, levels)
  const quoted = match(string, text, at)
  if (quoted !== undefined) return joined(text, at, quoted)
  const other = match(based, text, at)
  if (other !== undefined) return { json: basedOf(other), end: at + other.length }
  const digits = match(number, text, at)
  if (digits !== undefined) {
    const json = numberOf(digits)
    return json === "" ? undefined : { json, end: at + digits.length }
  }
  const name = match(word, text, at) ?? ""
  const json = words.get(name)
  return json === undefined ? undefined : { json, end: at + name.length }
}

const joined = (text: string, from: number, first: string): Literal | undefined => {
  let end = from + first.length
  let value = textOf(first)
  for (;;) {
    const next = CallJson.skipBlanks(text, end)
    const more = match(string, text, next)
    if (value === undefined) return undefined
    if (more === undefined) return { json: JSON.stringify(value), end }
    const behind = textOf(more)
    value = behind === undefined ? undefined : value + behind
    end = next + more.length
  }
}

const list = (text: string, from: number, close: string, levels: number): Literal | undefined => {
  const items: Array<string> = []
  let at = CallJson.skipBlanks(text, from + 1)
  while (text[at] !== close) {
    const item = read(text, at, levels + 1)
    if (item === undefined) return undefined
    items.push(item.json)
    at = CallJson.skipBlanks(text, item.end)
    if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
    else if (close === ")" && items.length === 1 && text[at] === close) return { json: item.json, end: at + 1 }
    else if (text[at] !== close) return undefined
  }
  return { json: `[${items.join(", ")}]`, end: at + 1 }
}

const dict = (text: string, from: number, levels: number): Literal | undefined => {
  const members: Array<string> = []
  let at = CallJson.skipBlanks(text, from + 1)
  while (text[at] !== "}") {
    const key = read(text, at, levels + 1)
    if (key === undefined || /^[[{]/.test(key.json)) return undefined
    at = CallJson.skipBlanks(text, key.end)
    // A set becomes a list, because JSON has no sets.
    if (members.length === 0 && (text[at] === "," || text[at] === "}")) return list(text, from, "}", levels)
    if (text[at] !== ":") return undefined
    const value = read(text, at + 1, levels + 1)
    if (value === undefined) return undefined
    members.push(`${key.json.startsWith('"') ? key.json : JSON.stringify(key.json)}: ${value.json}`)
    at = CallJson.skipBlanks(text, value.end)
    if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
    else if (text[at] !== "}") return undefined
  }
  return { json: `{${members.join(", ")}}`, end: at + 1 }
}

/** The JSON text of a literal that makes up the whole text. */
export const whole = (text: string): string | undefined => {
  const literal = read(text, 0)
  return literal !== undefined && CallJson.skipBlanks(text, literal.end) === text.length ? literal.json : undefined
}

/** JSON text as a Python literal. */
export const write = (json: string): string => {
  const first = json.trim()[0]
  if (first === "{")
    return `{${Array.from(CallJson.members(json), ([key, value]) => `${JSON.stringify(key)}: ${write(value)}`).join(", ")}}`
  if (first === "[") return `[${CallJson.elements(json).map(write).join(", ")}]`
  const trimmed = json.trim()
  return trimmed === "true" ? "True" : trimmed === "false" ? "False" : trimmed === "null" ? "None" : trimmed
}
