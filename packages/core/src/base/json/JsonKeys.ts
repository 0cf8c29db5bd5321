/** Reads the keys of a JSON text as written: a parser keeps the last of equal ones, and may reorder them. */
// Threads use this too, and should start fast.
import * as Result from "effect/Result"

const read = (literal: string): string =>
  Result.getOrElse(
    Result.try(() => JSON.parse(literal) as string),
    () => literal
  )

/**
 * Calls `open` for each object as it begins, and `see` with the result and each of its keys, in the order of the text,
 * until `see` returns true. Returns the depth of the text. Linear in the text; requires valid JSON.
 */
export const scan = <State>(json: string, open: () => State, see: (object: State, key: string) => boolean): number => {
  const around: Array<State | undefined> = []
  let last: string | undefined
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') {
      const from = at++
      while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1
      last = json.slice(from, at + 1)
    } else if (character === "{") around.push(open())
    else if (character === "[") around.push(undefined)
    else if (character === "}" || character === "]") around.pop()
    else if (character === ":" && last !== undefined) {
      const object = around.at(-1)
      if (object !== undefined && see(object, read(last))) break
    }
    depth = Math.max(depth, around.length)
  }
  return depth
}
