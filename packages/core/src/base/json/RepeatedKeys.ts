/**
 * Finds repeated keys in an object of a JSON text. A parser silently keeps the last one, so that one answer can contain
 * two, and another parser may use the other one: judged data must not be read like that.
 */
import * as Predicate from "effect/Predicate"
import * as ExactJson from "./ExactJson.ts"
import * as JsonKeys from "./JsonKeys.ts"

/** The first repeated key; undefined if none. Linear in the text; requires valid JSON. */
export const find = (json: string): string | undefined => {
  let twice: string | undefined
  JsonKeys.scan(
    json,
    () => new Set<string>(),
    (keys, key) => {
      if (keys.has(key)) twice = key
      keys.add(key)
      return twice !== undefined
    }
  )
  return twice
}

/** The number of keys in a parsed text; lists of numbers, which may be long, are not read. */
const keysIn = (value: unknown): number => {
  if (Array.isArray(value)) {
    return typeof value[0] === "number" ? 0 : value.reduce((sum: number, one) => sum + keysIn(one), 0)
  }
  if (!Predicate.isReadonlyObject(value) || value instanceof ExactJson.Numeral) return 0
  const all = Object.values(value)
  return all.reduce((sum: number, one) => sum + keysIn(one), all.length)
}

/**
 * Like `find`, for a text with its parsed value: only a text with more colons behind quotes than keys can repeat one,
 * and the scan takes longer than parsing.
 */
export const findIn = (json: string, value: unknown): string | undefined =>
  (json.match(/"\s*:/g)?.length ?? 0) > keysIn(value) ? find(json) : undefined
