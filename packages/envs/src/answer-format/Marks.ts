/** Finds marks in a text and the text between two of them. Linear in the text. */

/** Positions of a mark, without overlaps. */
export const places = (text: string, mark: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) found.push(at)
  return found
}

interface Run {
  readonly from: number
  readonly length: number
}

/** Maximal runs of one character: three asterisks are not two and one. */
const runs = (text: string, character: string): ReadonlyArray<Run> => {
  const found: Array<Run> = []
  for (let at = text.indexOf(character); at !== -1;) {
    let to = at + 1
    while (text[to] === character) to++
    found.push({ from: at, length: to - at })
    at = text.indexOf(character, to)
  }
  return found
}

const isRun = (mark: string): boolean => mark.trim() === mark && mark === mark[0]!.repeat(mark.length)

/** The position that closes the brace opened before `from`. */
const closingBrace = (text: string, from: number): number => {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const character = text[at]
    if (character === "\\") at++
    else if (character === "{") depth++
    else if (character === "}" && --depth === 0) return at
  }
  return -1
}

/** Marks of one repeated character, or brackets of such: `**`, `[[` and `]]`. */
const betweenRuns = (text: string, open: string, close: string): string | undefined => {
  const opening = runs(text, open[0]!)
  const closing = open === close ? opening.slice(1) : runs(text, close[0]!)
  const [first] = opening
  const [last] = closing
  if (first === undefined || last === undefined || closing.length !== 1) return undefined
  if (opening.length !== (open === close ? 2 : 1)) return undefined
  if (first.length !== open.length || last.length !== close.length || last.from < first.from) return undefined
  return text.slice(first.from + first.length, last.from)
}

/**
 * The text between two marks that occur once each (twice, if they are the same); a mark that ends with an open brace
 * ends at the matching brace. Spaces at the inner side of marks are optional.
 */
export const between = (text: string, open: string, close: string): string | undefined => {
  if (isRun(open) && isRun(close)) return betweenRuns(text, open, close)
  const [opened, closed] = [open.replace(/ $/, ""), close.replace(/^ /, "")]
  const [first, ...others] = places(text, opened)
  const isSame = opened.trim() === closed.trim()
  if (first === undefined || (!isSame && others.length > 0)) return undefined
  const from = first + opened.length
  if (opened.endsWith("{") && closed.startsWith("}")) {
    const to = closingBrace(text, from)
    return to !== -1 && text.startsWith(closed, to) ? text.slice(from, to) : undefined
  }
  if (isSame && places(text, opened.trim()).length !== 2) return undefined
  const [to, ...furtherEnds] = places(text.slice(from), closed)
  return to === undefined || furtherEnds.length > 0 ? undefined : text.slice(from, from + to)
}
