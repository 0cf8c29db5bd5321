/**
 * What Python's `str` makes of a list or a mapping, as `| string` writes tools in some templates: `{'a': [1, None]}`.
 * A number that JSON wrote as 1.0 was 1 when it came here, and is written so.
 */
import { Predicate } from "effect"

const escapes: { readonly [character: string]: string } = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const coded = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  const digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8
  return `\\${digits === 2 ? "x" : digits === 4 ? "u" : "U"}${code.toString(16).padStart(digits, "0")}`
}

/** A text in quotes: single ones, unless only those are in it; what cannot be seen as its number. */
const quoted = (text: string): string => {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === " ") return character
    if (character === "'") return quote === "'" ? "\\'" : "'"
    return escapes[character] ?? coded(character)
  })
  return `${quote}${inner}${quote}`
}

const number = (value: number): string => {
  const size = Math.abs(value)
  if (Number.isInteger(value) || (size >= 1e-4 && size < 1e16)) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
}

/** A value of a template: of a list or mapping those that it holds. */
export interface Value {
  readonly value: unknown
}

const isValue = (value: unknown): value is Value => Predicate.hasProperty(value, "value")

/** Whether `| string` of it is written here. */
export const isMade = ({ value }: Value): boolean => Array.isArray(value) || value instanceof Map

/** As Python writes it inside a list: texts in quotes. */
export const of = ({ value }: Value): string => {
  if (Array.isArray(value)) return `[${value.filter(isValue).map(of).join(", ")}]`
  if (value instanceof Map) {
    const entries = [...value].flatMap(([key, inner]) =>
      isValue(inner) ? [`${quoted(String(key))}: ${of(inner)}`] : []
    )
    return `{${entries.join(", ")}}`
  }
  if (typeof value === "string") return quoted(value)
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value === "number") return number(value)
  return "None"
}
