/**
 * Finds repeated keys in an object of a JSON text. A parser silently keeps the last one, so that one answer can contain
 * two, and another parser may use the other one: judged data must not be read like that.
 */
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
