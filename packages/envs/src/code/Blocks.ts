/**
 * Finds the code blocks of an answer, as models write them: fences of three or more backticks or tildes, after words or
 * a list's mark, indented, in a blockquote, or missing at the start ("def add(a, b): … ```"); and `<code>` over several
 * lines. A fence inside a triple-quoted string, as in docstrings, does not end a block of Python. Linear.
 */

/**
 * Reads the tags of code blocks in HTML: `<pre><code class="language-python">` and a `<code>` over several lines.
 */
const openingTag = /^[ \t]{0,20}(?:<pre(?:[ \t][^<>]{0,200})?>[ \t]{0,20})?<code(?:[ \t]([^<>]{0,200}))?>/i
const prefixed = /\b(?:language|lang|highlight)-([\w+-]{1,40})/i
const classed = /\bclass=["']?(?:source(?:Code)?[ \t])?([\w+-]{1,40})/i
const closingTag = /<\/code>/i

/** The block that a line opens; undefined if it opens none, or closes it again. */
const openingTagOf = (line: string) => {
  const [tag, attributes = ""] = openingTag.exec(line) ?? []
  if (tag === undefined || closingTag.test(line)) return undefined
  const [, language = ""] = prefixed.exec(attributes) ?? classed.exec(attributes) ?? []
  return { indent: 0, mark: "", length: 0, language, behindTag: line.slice(tag.length).trim() }
}

/** The code before the tag that closes the block; undefined if none closes it. */
const beforeClosingTag = (line: string): string | undefined => {
  const at = line.search(closingTag)
  return at === -1 ? undefined : line.slice(0, at)
}

const entities: { readonly [name: string]: string } = { lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'", amp: "&" }

/** The text with the characters that HTML writes as entities. */
const decoded = (code: string): string =>
  code.replaceAll(/&(lt|gt|quot|apos|#39|amp);/g, (whole, name: string) => entities[name] ?? whole)

/**
 * Tracks Python's triple-quoted strings from line to line.
 * The quotes of the string that is open at the end of a line.
 */
export type QuoteState = '"""' | "'''" | undefined

/** The state after a line. Linear. */
export const quoteStateAfter = (line: string, before: QuoteState): QuoteState => {
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

export interface Block {
  readonly language: string
  readonly code: string
  /** True if only its end is fenced. */
  readonly isBare: boolean
}

interface Fence {
  readonly indent: number
  readonly mark: string
  readonly length: number
  readonly language: string
  readonly isBare?: boolean
  /** Depth of the blockquote around it. */
  readonly depth?: number
  /** The code behind a tag that opens the block. */
  readonly behindTag?: string
}

interface Open extends Fence {
  readonly lines: Array<string>
  quote: QuoteState
  /** True if a fence was read as part of a string. */
  isFenceQuoted: boolean
}

const fence = /^([ \t]*)(`{3,}|~{3,})[ \t]*\{?[ \t]*\.?(?:lang(?:uage)?-)?([\w+-]*)/
const listMark = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+$/

/** The line without the marks of a blockquote, up to `depth` of them, and their number. */
const unquoted = (line: string, depth = Infinity): { readonly line: string; readonly marks: number } => {
  let marks = 0
  let rest = line
  while (marks < depth && /^[ \t]{0,3}>/.test(rest)) {
    rest = rest.slice(rest.indexOf(">") + 1).replace(/^ /, "")
    marks++
  }
  return { line: rest, marks }
}

/** A fence or tag at the start of a line, also of a quoted one, or backticks after words. Inline code is no block. */
const openingOf = (raw: string): Fence | undefined => {
  const { line, marks } = unquoted(raw)
  const found = fenceIn(line) ?? openingTagOf(line)
  return found === undefined || marks === 0 ? found : { ...found, depth: marks }
}

const fenceIn = (line: string): Fence | undefined => {
  const at = /^[ \t]*~~~/.test(line) ? 0 : line.indexOf("```")
  if (at === -1) return undefined
  const isFirst = line.slice(0, at).trim() === ""
  const [begun = "", indent = "", run = "", language = ""] = fence.exec(isFirst ? line : line.slice(at)) ?? []
  const from = isFirst ? begun.length : at + begun.length
  if (run === "" || line.includes("```", from)) return undefined
  const isListed = !isFirst && listMark.test(line.slice(0, at))
  return { indent: isFirst ? indent.length : isListed ? at : 0, mark: run[0] ?? "", length: run.length, language }
}

/** The code before a fence that closes the block, empty if the fence starts the line; undefined if none closes it. */
const closedBy = (line: string, { behindTag, length, mark }: Fence): string | undefined => {
  if (behindTag !== undefined) return beforeClosingTag(line)
  const [, , run = ""] = fence.exec(line) ?? []
  if (run.startsWith(mark) && run.length >= length) return ""
  if (mark !== "`") return undefined
  const trimmed = line.trimEnd()
  let from = trimmed.length
  while (from > 0 && trimmed[from - 1] === "`") from--
  const before = trimmed.slice(0, from)
  // A fence in a comment is part of the code.
  const isComment = /^\s*#+\s*$/.test(before)
  return from > 0 && !isComment && trimmed.length - from === Math.max(3, length) ? before : undefined
}

const withoutIndent = (line: string, indent: number): string => {
  let from = 0
  while (from < indent && (line[from] === " " || line[from] === "\t")) from++
  return line.slice(from)
}

const hasStrings = ({ behindTag, language }: Fence): boolean =>
  behindTag === undefined && /^(?:(?:python|py)3?)?$/i.test(language)

const blocksFrom = (
  lines: ReadonlyArray<string>,
  begins: Open | undefined,
  readsStrings: boolean
): ReadonlyArray<Block> | undefined => {
  const blocks: Array<Block> = []
  let open = begins
  const close = () => {
    if (open !== undefined) {
      const code = open.lines.join("\n")
      blocks.push({
        language: open.language,
        code: open.behindTag === undefined ? code : decoded(code),
        isBare: open.isBare === true
      })
    }
    open = undefined
  }
  const begin = (opening: Fence) => {
    const lines = opening.behindTag === undefined || opening.behindTag === "" ? [] : [opening.behindTag]
    open = { ...opening, lines, quote: undefined, isFenceQuoted: false }
  }
  for (const raw of lines) {
    const { line, marks } = unquoted(raw, open?.depth ?? 0)
    // The end of a blockquote ends the blocks in it.
    if (marks < (open?.depth ?? 0)) close()
    if (open === undefined) {
      const opening = openingOf(raw)
      if (opening !== undefined) begin(opening)
      continue
    }
    const code = closedBy(line, open)
    const isQuoted = readsStrings && open.quote !== undefined
    if (code === undefined || isQuoted) {
      open.isFenceQuoted ||= code !== undefined
      open.lines.push(withoutIndent(line, open.indent))
      if (readsStrings && hasStrings(open)) open.quote = quoteStateAfter(line, open.quote)
      continue
    }
    if (code !== "") open.lines.push(withoutIndent(code, open.indent))
    close()
    const next = openingOf(raw)
    // After an unclosed block, a fence with a language starts another one.
    if (code === "" && next !== undefined && next.language !== "") begin(next)
  }
  // An unterminated string swallowed the fences.
  if (open?.isFenceQuoted === true && open.quote !== undefined) return undefined
  if (open !== undefined && open.lines.length > 0) close()
  return blocks
}

/** The block whose opening fence is missing: code from `start` on, up to the first fence, which has no language. */
const bareOf = (lines: ReadonlyArray<string>, start: RegExp): Open | undefined => {
  const fences = lines.filter((line) => fence.test(line))
  const first = fence.exec(fences[0] ?? "")
  if (first === null || first[3] !== "") return undefined
  const before = lines.slice(0, lines.indexOf(fences[0] ?? ""))
  // A block that opens after words or a list's mark has its opening fence.
  if (before.some((line) => openingOf(line) !== undefined)) return undefined
  const from = before.findIndex((line) => start.test(line))
  const isAlone = from !== -1 && before.slice(0, from).every((line) => line.trim() === "")
  if (from === -1 || (!isAlone && fences.length % 2 === 0)) return undefined
  const [run, code] = [first[2] ?? "", before.slice(from)]
  return {
    indent: 0,
    mark: run[0] ?? "",
    length: 3,
    language: "",
    isBare: true,
    lines: code,
    quote: code.reduce<QuoteState>((quote, line) => quoteStateAfter(line, quote), undefined),
    isFenceQuoted: false
  }
}

/**
 * The code blocks; the last may be unclosed. A block ends at a line that starts or ends with its fence. With `start`,
 * the pattern of a first line of code, a block may lack its opening fence.
 */
export const blocksOf = (text: string, start?: RegExp): ReadonlyArray<Block> => {
  const lines = text.split("\n")
  const make = (readsStrings: boolean) => {
    const bare = start === undefined ? undefined : bareOf(lines, start)
    const rest = bare === undefined ? lines : lines.slice(lines.findIndex((line) => fence.test(line)))
    return blocksFrom(rest, bare, readsStrings)
  }
  return make(true) ?? make(false) ?? []
}
