/** Scans LaTeX by brackets: balanced groups, and splitting outside of brackets. Linear in the text. */

const openers = "([{"
const closers = ")]}"

/** Index after the group that opens with `{` at `start`; undefined if it is unclosed. Escaped braces do not count. */
export const groupEnd = (text: string, start: number): number | undefined => {
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const character = text[i]
    if (character === "\\") i += 1
    else if (character === "{") depth += 1
    else if (character === "}" && --depth === 0) return i + 1
  }
  return undefined
}

/** Ends of the groups that open with `{`, by their start; unclosed ones are omitted. */
export const groupEnds = (text: string): ReadonlyMap<number, number> => {
  const ends = new Map<number, number>()
  const open: Array<number> = []
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === "\\") i += 1
    else if (character === "{") open.push(i)
    else if (character === "}") {
      const start = open.pop()
      if (start !== undefined) ends.set(start, i + 1)
    }
  }
  return ends
}

/**
 * The depth of brackets of any kind before each character: `(`, `[`, `{` and `\{` open; intervals may close with the
 * other kind.
 */
export const depths = (text: string): Int16Array => {
  const result = new Int16Array(text.length)
  let depth = 0
  let environment = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (closers.includes(character)) depth = Math.max(0, depth - 1)
    if (character === "\\" && text.startsWith("\\end{", i)) environment = Math.max(0, environment - 1)
    result[i] = depth + environment
    if (openers.includes(character)) depth += 1
    if (character === "\\" && text.startsWith("\\begin{", i)) environment += 1
  }
  return result
}

/** Parts of a text, and the separators as matched by the pattern. */
export interface Split {
  readonly parts: ReadonlyArray<string>
  readonly separators: ReadonlyArray<string>
}

/** Splits at matches of the global `pattern` that are outside all brackets. */
export const splitTop = (text: string, pattern: RegExp): Split => {
  const depth = depths(text)
  const parts: Array<string> = []
  const separators: Array<string> = []
  let last = 0
  for (const match of text.matchAll(pattern)) {
    if (depth[match.index] !== 0 || match[0].length === 0) continue
    parts.push(text.slice(last, match.index))
    separators.push(match[0])
    last = match.index + match[0].length
  }
  parts.push(text.slice(last))
  return { parts, separators }
}

/** If one bracket spans the whole text: its two ends and the text between. `\{` and `\}` are returned as such. */
export const enclosed = (
  text: string
): { readonly open: string; readonly close: string; readonly inner: string } | undefined => {
  const open = text.startsWith("\\{") ? "\\{" : (text[0] ?? "")
  const close = text.endsWith("\\}") ? "\\}" : text.slice(-1)
  if (!openers.includes(open.slice(-1)) || !closers.includes(close.slice(-1)) || open === "" || close === "") {
    return undefined
  }
  if (text.length < open.length + close.length) return undefined
  const depth = depths(text)
  const first = open.length - 1
  for (let i = first + 1; i < text.length - 1; i++) {
    // `\}` closes at its brace; the backslash before it is still inside.
    if (depth[i] === 0 && !(close === "\\}" && i === text.length - 2)) return undefined
  }
  return depth[text.length - 1] === 0
    ? { open, close, inner: text.slice(open.length, text.length - close.length) }
    : undefined
}

/** Replaces every `\command{argument}` by the result of `replace` for the argument. */
export const replaceCommand = (
  text: string,
  pattern: RegExp,
  replace: (argument: string, command: string) => string
): string => {
  let result = ""
  let last = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index < last) continue
    const start = match.index + match[0].length - 1
    const end = groupEnd(text, start)
    if (end === undefined) continue
    result += text.slice(last, match.index) + replace(text.slice(start + 1, end - 1), match[0].slice(0, -1))
    last = end
  }
  return result + text.slice(last)
}
