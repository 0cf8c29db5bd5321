/**
 * How deep JSON text nests, counted over its bytes before anything parses it: a parser takes seconds and gigabytes for
 * megabytes of brackets, and what is made of them breaks whatever walks it by recursion.
 */
import { maxDepth, skipString } from "./JsonSpans.ts"

const quote = 0x22
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** What may lie around the values of a group: a list, an item with its key, the group itself. */
const around = 4

/**
 * Whether a whole text nests deeper than what is taken in it could. One walk; a text that is no JSON has some answer.
 */
export const isTooDeep = (bytes: Uint8Array): boolean => {
  let depth = 0
  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at]!
    if (byte === quote) {
      at = skipString(bytes, at)
      continue
    }
    if (byte === openBracket || byte === openBrace) {
      if (++depth > maxDepth + around) return true
    } else if (byte === closeBracket || byte === closeBrace) depth--
    at++
  }
  return false
}
