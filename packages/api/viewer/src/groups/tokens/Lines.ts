/**
 * Tokens laid out in lines of a fixed-width font, so that only the lines in view need to be drawn.
 *
 * A line ends after a token with a line feed, or before the token that would not fit; a token wider than a line has one
 * of its own. Every token is in exactly one line, in order.
 */

/** Tokens `from` to before `to`. */
export interface Line {
  readonly from: number
  readonly to: number
}

/** `width` and `endsLine` say of each token how many columns it takes and whether a line feed is in it. */
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

/** The line a token is in, by halving. */
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

/** The token of a neighbouring line that lies under (or over) the given one. */
export const inLine = (lines: ReadonlyArray<Line>, index: number, by: number): number => {
  const at = lineOf(lines, index)
  const here = lines[at]
  const there = lines[Math.min(lines.length - 1, Math.max(0, at + by))]
  if (here === undefined || there === undefined || here === there) return index
  const share = (index - here.from) / (here.to - here.from)
  return Math.min(there.to - 1, there.from + Math.round(share * (there.to - there.from)))
}

/** Columns of a text: East Asian characters and pictograms take two. */
export const columnsOf = (text: string): number => {
  // Most tokens are plain: their length is their width.
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
