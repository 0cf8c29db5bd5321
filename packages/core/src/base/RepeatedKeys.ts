/**
 * Keys that a JSON text gives twice in one object. A parser keeps the last of them and says nothing, so that one answer
 * can hold two, and whoever reads it by another parser takes the other one: what is judged must not be read so.
 */
// A thread uses this too, and should start fast.
import * as Result from "effect/Result"

const read = (literal: string): string =>
  Result.getOrElse(
    Result.try(() => JSON.parse(literal) as string),
    () => literal
  )

/**
 * The first key that is given twice, spelt as it may be; nothing where there is none. Linear in the text; for text that
 * is JSON.
 */
export const find = (json: string): string | undefined => {
  const open: Array<Set<string> | undefined> = []
  let last: string | undefined
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') {
      const from = at++
      while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1
      last = json.slice(from, at + 1)
    } else if (character === "{") open.push(new Set())
    else if (character === "[") open.push(undefined)
    else if (character === "}" || character === "]") open.pop()
    else if (character === ":" && last !== undefined) {
      const key = read(last)
      const keys = open.at(-1)
      if (keys?.has(key)) return key
      keys?.add(key)
    }
  }
  return undefined
}
