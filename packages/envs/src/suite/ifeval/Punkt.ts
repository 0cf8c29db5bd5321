/**
 * Counts the sentences of a text by Punkt (Kiss and Strunk 2006, https://doi.org/10.1162/coli.2006.32.4.485) with the
 * decisions of NLTK's tokenizer (Apache-2.0).
 *
 * A full stop, question or exclamation mark ends a sentence if white space or closing punctuation follows; not after an
 * abbreviation, unless a common sentence starter follows, and not between an initial or a number and a word in lower
 * case. NLTK learns abbreviations and contexts from newspapers; this has a list of common abbreviations and no
 * contexts, so counts may differ.
 */

/** Without their last full stop, in lower case. */
export const abbreviations =
  `a.d a.k.a a.m adm apr assn assoc asst aug ave b.c b.sc bldg blvd bros c.e capt cent cf cmdr co col corp d.c d.d.s dec
dept dist div dr e.g est etc ext feb fig fla fri ft gen gov hon i.e inc ind jan jr kg km l.a lb lt ltd m.a m.d m.p maj mass mr mrs ms messrs mph mt n.j n.y
no nov oct oz p.m p.s ph ph.d pres prof pt r.i rd rep reps rev s.a s.c sat sec sen sens sept sgt sr st ste sun tel tex thurs tues u.k u.n u.s u.s.a
univ v vol vs w.va wed wis yr`
    .split(/\s+/)
    .filter((word) => word !== "")

/** In lower case. */
export const starters =
  `a also although an and another as at both but by during each even first for he her here his how however i if in it its many meanwhile
most moreover my no now on one our perhaps she since so some such that the their then there therefore these they this those though thus today
under we what when where while who why with you your`
    .split(/\s+/)
    .filter((word) => word !== "")

const known = new Set(abbreviations)
const starting = new Set(starters)

const nonWord = String.raw`[)";}\]*:@'({[‘’“”«»?!]`
const multiple = String.raw`(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)`
const contexts = new RegExp(String.raw`[.?!](?=(${nonWord}|\s+(\S+)))`, "gu")
const words = new RegExp(
  String.raw`${multiple}|(?![("\x60{[:;&#*@)}\]\-,])\S+?(?=\s|$|${nonWord}|${multiple}|,(?=$|\s|${nonWord}|${multiple}))|\S`,
  "gu"
)

interface Token {
  readonly text: string
  /** In lower case; every number has the same type. */
  readonly type: string
  readonly endsInStop: boolean
  readonly isInitial: boolean
  readonly isEllipsis: boolean
  isAbbreviation: boolean
  isBreak: boolean
}

const tokenOf = (text: string): Token => {
  const isEllipsis = /^\.\.+$/.test(text)
  const endsInStop = text.endsWith(".")
  const word = text.slice(0, -1).toLowerCase()
  const mayAbbreviate = !/^[.?!]$/.test(text) && !isEllipsis && endsInStop && !text.endsWith("..")
  const isAbbreviation = mayAbbreviate && (known.has(word) || known.has(word.split("-").at(-1) ?? ""))
  return {
    text,
    type: text.toLowerCase().replace(/^-?[.,]?\d[\d,.-]*$/, "##number##"),
    endsInStop,
    isInitial: /^[\p{L}_]\.$/u.test(text),
    isEllipsis,
    isAbbreviation,
    isBreak: /^[.?!]$/.test(text) || (mayAbbreviate && !isAbbreviation)
  }
}

const bare = (type: string): string => (type.length > 1 && type.endsWith(".") ? type.slice(0, -1) : type)
const isUpper = (text: string): boolean => /^\p{Lu}/u.test(text)
const isLower = (text: string): boolean => /^\p{Ll}/u.test(text)

/** Decides a token's break from the next token. */
const decide = (token: Token, next: Token): void => {
  if (!token.endsInStop) return
  const nextType = next.isBreak ? bare(next.type) : next.type
  if ((token.isAbbreviation || token.isEllipsis) && !token.isInitial && isUpper(next.text) && starting.has(nextType)) {
    token.isBreak = true
    return
  }
  if (!token.isInitial && bare(token.type) !== "##number##") return
  const isNoStart = /^[;:,.!?]$/.test(next.text) || isLower(next.text)
  if (isNoStart || (token.isInitial && isUpper(next.text))) {
    token.isBreak = false
    token.isAbbreviation = true
  }
}

/** True if a sentence ends within these words, before the last of them. */
const hasBreak = (context: string): boolean => {
  const tokens = context.split("\n").flatMap((line) => Array.from(line.matchAll(words), ([text]) => tokenOf(text)))
  return tokens.some((token, at) => {
    const next = tokens[at + 1]
    if (next === undefined) return false
    decide(token, next)
    return token.isBreak
  })
}

interface Context {
  readonly end: number
  readonly next: number
  readonly text: string
}

const isBlank = (letter: string | undefined): boolean => letter !== undefined && " \t\n\r\v\f".includes(letter)

/** Possible sentence ends, each with the word before and after it; the last one if a word has several. */
const candidates = (text: string): ReadonlyArray<Context> => {
  const found: Array<Context> = []
  let before = { start: 0, stop: 0 }
  let pending: Context | undefined
  for (const match of text.matchAll(contexts)) {
    let start = match.index
    while (start > before.stop && !isBlank(text[start - 1])) start--
    // NLTK ignores white space at the start of the text.
    const word = start - 1 > before.stop ? { start, stop: match.index } : { start: before.start, stop: match.index }
    if (pending !== undefined && before.stop <= word.start) found.push(pending)
    const [, after = "", token] = match
    const end = match.index + 1
    pending = {
      end,
      next: token === undefined ? end : end + after.length - token.length,
      text: text.slice(word.start, end) + after
    }
    before = word
  }
  if (pending !== undefined) found.push(pending)
  return found
}

const closing = /^["')\]}‘’“”«»]+?(?:\s+|(?=--)|(?![^\n]))/u

export const countSentences = (text: string): number => {
  const slices: Array<{ readonly start: number; readonly stop: number }> = []
  let start = 0
  for (const { end, next, text: context } of candidates(text)) {
    if (!hasBreak(context)) continue
    slices.push({ start, stop: end })
    start = next
  }
  slices.push({ start, stop: text.trimEnd().length })
  // Closing marks at the start of a sentence belong to the previous one.
  let count = 0
  let moved = 0
  slices.forEach((slice, at) => {
    const from = slice.start + moved
    const following = slices[at + 1]
    const match = following && closing.exec(text.slice(following.start, following.stop))
    if (match) {
      moved = match[0].length
      count++
    } else {
      moved = 0
      if (from < slice.stop) count++
    }
  })
  return count
}
