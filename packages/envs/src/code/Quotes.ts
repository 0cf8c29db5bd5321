/** Tracks Python's triple-quoted strings from line to line. */

/** The quotes of the string that is open at the end of a line. */
export type State = '"""' | "'''" | undefined

/** The state after a line. Linear. */
export const after = (line: string, before: State): State => {
  let open = before
  let at = 0
  while (at < line.length) {
    const one = line[at]
    if (one === "\\") at += 2
    else if (open !== undefined) {
      const isEnd = line.startsWith(open, at)
      at += isEnd ? 3 : 1
      if (isEnd) open = undefined
    } else if (one === "#") return undefined
    else if (one === '"' || one === "'") {
      const triple = one === '"' ? '"""' : "'''"
      if (line.startsWith(triple, at)) {
        open = triple
        at += 3
      } else at = afterString(line, at)
    } else at += 1
  }
  return open
}

/** The position after a string of one line. */
const afterString = (line: string, start: number): number => {
  let at = start + 1
  while (at < line.length && line[at] !== line[start]) at += line[at] === "\\" ? 2 : 1
  return at + 1
}
