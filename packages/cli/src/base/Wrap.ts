/** Breaks a line between words: redrawn lines must not be wrapped by the terminal itself. Pure. */

/** A hint of more rows becomes a separate text. */
const maxRows = 4

/**
 * Splits into rows of at most `width` characters, all but the first indented by `indent`. Words longer than a row are
 * cut. If the text needs more rows than allowed, the last one ends in `…`.
 */
export const wrap = (line: string, width: number, indent = 0): ReadonlyArray<string> => {
  const margin = " ".repeat(Math.min(indent, Math.max(0, width - 8)))
  const rows: Array<string> = []
  let rest = line
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width)
    const end = space > margin.length ? space : width
    rows.push(rest.slice(0, end).trimEnd())
    rest = margin + rest.slice(end).trimStart()
  }
  rows.push(rest)
  if (rows.length <= maxRows) return rows
  const last = rows[maxRows - 1]!
  return [...rows.slice(0, maxRows - 1), `${last.slice(0, Math.max(0, width - 1))}…`]
}
