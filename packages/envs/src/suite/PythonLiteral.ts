/**
 * Parses lists of texts as Python writes them: `['a', "b's"]`. Data sets contain them if a column of lists was saved as
 * CSV (MuSR's choices).
 */

const escapes: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r" }

const part = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gsy

/** The texts of a list; undefined if the text is not such a list. */
export const texts = (written: string): ReadonlyArray<string> | undefined => {
  const list = written.trim()
  if (!list.startsWith("[") || !list.endsWith("]")) return undefined
  const found: Array<string> = []
  let at = 1
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const match = pattern.exec(list)
    if (match !== null) at = pattern.lastIndex
    return match !== null
  }
  skip(/\s*/y)
  while (at < list.length - 1) {
    part.lastIndex = at
    const match = part.exec(list)
    if (match === null) return undefined
    at = part.lastIndex
    found.push((match[1] ?? match[2] ?? "").replaceAll(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter))
    if (!skip(/\s*,\s*/y)) break
  }
  skip(/\s*/y)
  return at === list.length - 1 && found.length > 0 ? found : undefined
}
