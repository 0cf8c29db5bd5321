/**
 * Keys that a JSON text gives twice in one object. A parser keeps the last of them and says nothing, so that one answer
 * can hold two, and whoever reads it by another parser takes the other one: what is judged must not be read so.
 */
import * as JsonKeys from "./JsonKeys.ts"

/** The first key that is given twice; undefined if there is none. Linear in the text; for text that is JSON. */
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
