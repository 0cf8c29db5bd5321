/** Finds the formulas of a text, between dollar signs or the like. Linear in the text. */

/** A range of a text and its content. */
export interface Found {
  readonly start: number
  readonly end: number
  readonly answer: string
}

/** A dollar sign before a digit does not close a formula: it is a price. */
const formula =
  /(?<!\\)\$\$([^$]+)(?<!\\)\$\$|(?<!\\)\$((?:[^$\n\\]|\\[^\n])+)\$(?!\d)|\\\[((?:[^\\]|\\[^[\]]){1,2000})\\\]|\\\(((?:[^\n\\]|\\[^()\n]){1,2000})\\\)/g

/** Formulas between `$…$` (on one line), `$$…$$`, `\(…\)` and `\[…\]`. */
export const all = (text: string): ReadonlyArray<Found> =>
  [...text.matchAll(formula)]
    .map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
      answer: match[1] ?? match[2] ?? match[3] ?? match[4] ?? ""
    }))
    .filter(({ answer }) => answer.trim() !== "")

const percent = /^\s*(?:\$\s*)?(?:per\s?cent(?:age)?|pct|[%％]|\\%)(?![a-zA-Z])/i

const scale = /^[\s$*}]{0,9}(?:\\text\s?\{\s{0,3})?((?:hundred|thousand|million|billion|trillion|dozen))s?(?![a-zA-Z])/i

/** A percent sign or word, or a number word such as "million", that follows a formula or box. */
export const scaleAfter = (rest: string): string => {
  const [, word] = scale.exec(rest) ?? []
  return percent.test(rest) ? " \\% " : word === undefined ? "" : ` \\text{ ${word}}`
}

/** True if the text between two formulas joins them to a list. */
export const isList = (gap: string): boolean => /^\s*(?:,|;|and|or|,\s*and|,\s*or)\s*$/.test(gap)

/** The last formula with those listed with it, and a following percent sign or number word. */
export const lastJoined = (text: string): string | undefined => {
  const parts = all(text)
  const last = parts.at(-1)
  if (last === undefined) return undefined
  let first = parts.length - 1
  while (first > 0 && isList(text.slice(parts[first - 1]!.end, parts[first]!.start))) first -= 1
  const list = parts.slice(first).map(({ answer }) => answer)
  return list.join(" , ") + scaleAfter(text.slice(last.end, last.end + 20))
}

/** Between two values that are both meant. */
const joins = /^\s*$|(?<![a-zA-Z])(?:and|also|or|alternatively)(?![a-zA-Z])/i

/** "$5$ or possibly $6$": formulas that are not a list, with words between or around them that satisfy `doubts`. */
export const areAlternatives = (text: string, doubts: (words: string) => boolean): boolean => {
  const parts = all(text)
  const between = parts.map(({ end }, i) => text.slice(end, parts[i + 1]?.start ?? text.length))
  const words = [text.slice(0, parts[0]?.start ?? 0), ...between.filter((gap) => !isList(gap))]
  return words.some(doubts) || between.slice(0, -1).some((gap) => joins.test(gap) && !isList(gap))
}
