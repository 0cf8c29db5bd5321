/**
 * Parses JSON text for a template (`Values.from`) like Python's `json.loads`: keys in their order, including digits,
 * exact integers, and `1.0` as a float.
 */
import * as ExactJson from "../../base/json/ExactJson.ts"

const blank = /[ \t\n\r]*/y
const literal = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Throws `SyntaxError` if `JSON.parse` does. */
export const parse = (text: string): unknown => {
  JSON.parse(text)
  let at = 0
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ""] = pattern.exec(text) ?? []
    at += found.length
    return found
  }
  const take = (character: string): boolean => {
    skip(blank)
    const isNext = text[at] === character
    if (isNext) at++
    return isNext
  }
  const next = (): unknown => {
    if (take("{")) {
      const members = new Map<unknown, unknown>()
      while (!take("}")) {
        take(",")
        skip(blank)
        const key: string = JSON.parse(skip(literal))
        take(":")
        members.set(key, next())
      }
      return members
    }
    if (take("[")) {
      const items: Array<unknown> = []
      while (!take("]")) {
        take(",")
        items.push(next())
      }
      return items
    }
    const one = skip(literal)
    if (/^-?\d+$/.test(one)) return BigInt(one)
    return /^[-\d]/.test(one) ? new ExactJson.Numeral(one) : JSON.parse(one)
  }
  return next()
}
