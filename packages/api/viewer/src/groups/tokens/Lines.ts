/**
 * Lays out tokens in lines of a fixed-width font, so that only lines in view are rendered. A line ends after a token
 * with a line feed, or before a token that would not fit; a token wider than a line has its own. Every token is in
 * exactly one line, in order.
 */

/** Tokens in [from, to). */
export interface Line {
  readonly from: number
  readonly to: number
}

/** `width` returns a token's columns, `endsLine` if it contains a line feed. */
export const layOut = (
  length: number,
  columns: number,
  width: (index: number) => number,
  endsLine: (index: number) => boolean
): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let from = 0
  let used = 0
  for (let index = 0; index < length; index++) {
    const next = width(index)
    if (index > from && used + next > columns) {
      lines.push({ from, to: index })
      from = index
      used = 0
    }
    used += next
    if (endsLine(index)) {
      lines.push({ from, to: index + 1 })
      from = index + 1
      used = 0
    }
  }
  if (from < length) lines.push({ from, to: length })
  return lines
}

export const lineOf = (lines: ReadonlyArray<Line>, index: number): number => {
  let low = 0
  let high = lines.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (lines[middle]!.to <= index) low = middle + 1
    else high = middle
  }
  return low
}

/** The token below (or above) the given one in a neighbouring line. */
export const inLine = (lines: ReadonlyArray<Line>, index: number, by: number): number => {
  const at = lineOf(lines, index)
  const here = lines[at]
  const there = lines[Math.min(lines.length - 1, Math.max(0, at + by))]
  if (here === undefined || there === undefined || here === there) return index
  const share = (index - here.from) / (here.to - here.from)
  return Math.min(there.to - 1, there.from + Math.round(share * (there.to - there.from)))
}

/** Columns of a text: East Asian characters and emoji take two. */
export const columnsOf = (text: string): number => {
  // Fast path: for most tokens the length is the width.
  if (/^[\u0020-\u02ff↵⇥␍∅⟨⟩]*$/.test(text)) return text.length
  let columns = 0
  for (const char of text) {
    columns += /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Extended_Pictographic}\uff01-\uff60]/u.test(
      char
    )
      ? 2
      : 1
  }
  return columns
}
