/**
 * Handles JSON inside a model's answer: parses untrusted text, finds its end within other text, and writes it as chat
 * templates do. Linear in the text.
 */
import { Option, Predicate, Result } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import * as RepeatedKeys from "../../base/json/RepeatedKeys.ts"
import type { ReadCall } from "./OutputFormat.ts"

/** Rejects JSON that is too deep for recursion or has repeated keys. */
export const decode = (json: string): Option.Option<unknown> =>
  Nesting.isDeep(json) || RepeatedKeys.find(json) !== undefined
    ? Option.none()
    : Result.getSuccess(Result.try(() => ExactJson.parse(json)))

const blank = /\s/

/** The first index from `at` on that is not whitespace. */
export const skipBlanks = (text: string, at: number): number => {
  let index = at
  while (index < text.length && blank.test(text[index]!)) index++
  return index
}

/** Index after the list or map that opens at `from`; undefined if it is not closed. */
export const endOf = (text: string, from: number): number | undefined => {
  let levels = 0
  for (let at = from; at < text.length;) {
    const character = text[at]
    if (character === '"') {
      at = Nesting.skipString(text, at)
      continue
    }
    if (character === "{" || character === "[") levels++
    else if ((character === "}" || character === "]") && --levels <= 0) return at + 1
    at++
  }
  return undefined
}

/** The texts of an object's values by key; requires valid JSON of an object. */
export const members = (json: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (let at = skipBlanks(json, json.indexOf("{") + 1); at < json.length && json[at] === '"';) {
    const behindKey = Nesting.skipString(json, at)
    const from = skipBlanks(json, skipBlanks(json, behindKey) + 1)
    const to = valueEnd(json, from)
    found.set(String(JSON.parse(json.slice(at, behindKey))), json.slice(from, to))
    at = skipBlanks(json, skipBlanks(json, to) + 1)
  }
  return found
}

/** The texts of a list's elements; requires valid JSON of a list. */
export const elements = (json: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = skipBlanks(json, json.indexOf("[") + 1); at < json.length && json[at] !== "]";) {
    const to = valueEnd(json, at)
    found.push(json.slice(at, to))
    at = skipBlanks(json, skipBlanks(json, to) + 1)
  }
  return found
}

const valueEnd = (json: string, from: number): number => {
  const first = json[from]
  if (first === '"') return Nesting.skipString(json, from)
  if (first === "{" || first === "[") return endOf(json, from) ?? json.length
  let at = from
  while (at < json.length && !",]}".includes(json[at]!) && !blank.test(json[at]!)) at++
  return at
}

/**
 * A call written as an object with a name and, under one of these keys, arguments. `mayBeBare`: an object with only a
 * name is a call without arguments.
 */
export const call = (json: string, keys: ReadonlyArray<string>, mayBeBare = false): ReadCall | undefined => {
  const value = Option.getOrUndefined(decode(json))
  if (!Predicate.isReadonlyObject(value) || Array.isArray(value)) return undefined
  const { name } = value
  const key = keys.find((one) => Object.hasOwn(value, one))
  if (typeof name !== "string" || name === "") return undefined
  if (key === undefined) {
    return mayBeBare && Object.keys(value).length === 1 ? { name, arguments: {}, json: "{}" } : undefined
  }
  return { name, arguments: value[key], json: respaced(members(json).get(key) ?? "null") }
}

/** Calls in a list, or a single one; undefined if any is invalid. */
export const callsOf = (json: string, keys: ReadonlyArray<string>): ReadonlyArray<ReadCall> | undefined => {
  if (!json.startsWith("[")) {
    const one = call(json, keys)
    return one && [one]
  }
  if (Option.isNone(decode(json))) return undefined
  const found = elements(json).map((element) => call(element, keys))
  const calls = found.filter((one) => one !== undefined)
  return calls.length === found.length && calls.length > 0 ? calls : undefined
}

/** Valid tool names, for formats in which only markers delimit the name. */
const bareName = /^[^\s{}[\]"'<>|]+$/

/** A call from a name and the JSON of its arguments. */
export const argumentsOf = (name: string, json: string): ReadCall | undefined => {
  const value = decode(json)
  return !bareName.test(name) || Option.isNone(value)
    ? undefined
    : { name, arguments: value.value, json: respaced(json) }
}

/**
 * Writes a value like Python's `json.dumps` (a space after colon and comma), as models saw it in training and templates
 * write it.
 */
export const write = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`
  if (typeof value === "object" && value !== null && !(value instanceof ExactJson.Numeral)) {
    return `{${Object.entries(value)
      .map(([key, entry]) => `${JSON.stringify(key)}: ${write(entry)}`)
      .join(", ")}}`
  }
  return ExactJson.write(value) ?? "null"
}

/** JSON text in the same style; text that is not JSON becomes a string. */
export const rewrite = (json: string): string => (Option.isNone(decode(json)) ? JSON.stringify(json) : respaced(json))

/** JSON text in the same style, with numbers unchanged, even those too large for a JavaScript number. */
const respaced = (json: string): string => {
  const parts: Array<string> = []
  for (let at = 0; at < json.length;) {
    const character = json[at]!
    if (character === '"') {
      const to = Nesting.skipString(json, at)
      parts.push(JSON.stringify(JSON.parse(json.slice(at, to))))
      at = to
    } else {
      if (character === "," || character === ":") parts.push(`${character} `)
      else if (!blank.test(character)) parts.push(character)
      at++
    }
  }
  return parts.join("")
}
