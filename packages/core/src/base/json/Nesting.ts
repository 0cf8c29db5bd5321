/**
 * Counts the depth and the number of containers of a JSON text before parsing: a parser takes seconds and gigabytes for
 * megabytes of brackets, recursion over the result (writing, comparing) fails, and an empty list of two characters
 * takes a hundred bytes and a microsecond once parsed.
 *
 * One rule for texts and for bytes. Linear in the text; any text is accepted, and the result for invalid JSON is
 * unspecified.
 */

/** JSON as a string or in UTF-8: the relevant characters have the same code in both. */
type Json = string | Uint8Array

/** Max depth of readable data. */
export const maxDepth = 200

const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const codeAt = (json: Json, at: number): number => (typeof json === "string" ? json.charCodeAt(at) : json[at]!)

const quoteAfter = (json: Json, at: number): number =>
  typeof json === "string" ? json.indexOf('"', at + 1) : json.indexOf(quote, at + 1)

/** From the opening quote of a string to after the closing one, or to the end of the text. */
export const skipString = (json: Json, from: number): number => {
  let at = from
  for (;;) {
    at = quoteAfter(json, at)
    if (at < 0) return json.length
    let slashes = 0
    while (codeAt(json, at - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

/** True if brackets outside of strings are nested deeper than this. */
export const isDeep = (json: Json, levels = maxDepth): boolean => exceeds(json, { levels })

/** True if a text has more levels, or more lists and maps in total, than allowed. */
export const exceeds = (json: Json, max: { readonly levels?: number; readonly opened?: number }): boolean => {
  const { levels: maxLevels = maxDepth, opened: maxOpened = Number.POSITIVE_INFINITY } = max
  let levels = 0
  let opened = 0
  let at = 0
  while (at < json.length) {
    const code = codeAt(json, at)
    if (code === quote) {
      at = skipString(json, at)
      continue
    }
    if (code === openBracket || code === openBrace) {
      if (++levels > maxLevels || ++opened > maxOpened) return true
    } else if (code === closeBracket || code === closeBrace) levels--
    at++
  }
  return false
}
