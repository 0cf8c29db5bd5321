/**
 * Tokenizes an answer to a multiple-choice question, and finds the tokens that name a choice.
 *
 * Markup, LaTeX wrappers, invisible characters and struck-out text are removed; letters that only look Latin are read
 * as what they look like. A choice is named by its label ("B", "(b)", "option B"), by its text, by both, or by its
 * position ("the second option"). Labels that are words (A, I) and lower-case letters count only if they cannot be read
 * as words. Linear in the text.
 */

import * as Signs from "../text/Signs.ts"

export interface Token {
  /** The original spelling. */
  readonly text: string
  /** In lower case. */
  readonly word: string
  /** True if whitespace follows. */
  readonly isSpaced: boolean
}

/** Choices as their labels and the tokens of their texts. */
export interface Choices {
  /** Labels as written in the question. */
  readonly written: ReadonlyArray<string>
  /** Labels as they appear in tokens: `①` is `1`, and a letter that looks Latin is Latin. */
  readonly labels: ReadonlyArray<string>
  /** Without leading articles and trailing points. */
  readonly texts: ReadonlyArray<ReadonlyArray<Token>>
  /** Indices of texts that begin with an article. */
  readonly articled: ReadonlySet<number>
}

/** A choice named from some token on: its index, or several if ambiguous. */
export interface Named {
  readonly places: ReadonlyArray<number>
  /** The token after it. */
  readonly next: number
  /** Named as a choice and not by a bare letter: by a label in brackets or before a colon, or by its text. */
  readonly isPlain: boolean
  /** By its label and its text. */
  readonly hasText?: boolean
}

const wrapper = /\\(?:text(?:bf|it|rm|sf|tt)?|math(?:rm|bf|sf|it)|mbox|emph|bf|rm|displaystyle|left|right)(?![a-zA-Z])/g
const spacing = /\\(?:[()[\],;:! ]|q?quad(?![a-zA-Z])|\\)/g
const tags = /<\/?(?:b|i|u|p|em|strong|span|mark|code|br) ?\/?>/gi
const fraction = /\\[dt]?frac\s?\{([^{}]{1,40})\}\s?\{([^{}]{1,40})\}/g
const shortFraction = /\\[dt]?frac\s?(\d)\s?(\d)(?!\d)/g
const struckOut = /~~[^~\n]{1,500}~~|<(?:s|del)>[^<\n]{1,500}<\/(?:s|del)>/gi

const cyrillicAndGreek = "АВСЕНІЈКМОРЅТХаеосрхΑΒΕΖΗΙΚΜΝΟΡΤΧ"
const latin = "ABCEHIJKMOPSTXaeocpxABEZHIKMNOPTX"

/** White letters on black, which Unicode does not classify as letters. */
const unframed = (symbol: string): string => {
  const code = symbol.codePointAt(0) ?? 0
  return String.fromCharCode(65 + (code >= 0x1f170 ? code - 0x1f170 : code - 0x1f150))
}

const plain = (text: string): string =>
  Signs.ascii(text)
    .replaceAll(struckOut, " ")
    .replaceAll(/[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]\ufe0f?/gu, unframed)
    .normalize("NFKC")
    .replaceAll(/[\u00ad\u200b-\u200f\u2060\ufeff]|\ufe0f/g, "")
    .replaceAll(/[‘’ʼ´]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(fraction, "$1/$2")
    .replaceAll(shortFraction, "$1/$2")
    .replaceAll(spacing, " ")
    .replaceAll(wrapper, " ")
    .replaceAll(tags, " ")
    .replaceAll(/[*`${}]|__|(?<![a-zA-Z])#/g, " ")

const parts =
  /\n|\d+(?:[.,]\d+)*(?![\p{L}\p{N}_])|(?:i\.e|e\.g|etc|vs)\.|[\p{L}\p{M}\p{N}_]+(?:'\p{L}+)*|\.{2,}|[-=]>|[^\s]/gu

export const tokensOf = (text: string): ReadonlyArray<Token> => {
  const clean = plain(text)
  return Array.from(clean.matchAll(parts), ({ 0: part, index }): Token => {
    const at = part.length === 1 ? cyrillicAndGreek.indexOf(part) : -1
    const follower = clean.charAt(index + part.length)
    // "!A" and "!=" deny.
    const isNegation = part === "!" && /[\p{L}\p{N}=(]/u.test(follower)
    const seen = isNegation ? "¬" : at === -1 ? part : latin.charAt(at)
    // A choice "1,000" is also written 1000.
    const word = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(seen) ? seen.replaceAll(",", "") : seen.toLowerCase()
    return { text: seen, word, isSpaced: /^(?:\s|$)/.test(follower) }
  })
}

const articles: ReadonlySet<string> = new Set(["a", "an", "the"])
const pointed: ReadonlySet<string> = new Set([".", ":", ")", "]", "-", "–", "—", ","])
const openers: ReadonlySet<string> = new Set(["(", "[", '"', "'", "<"])
const closers: ReadonlySet<string> = new Set([")", "]", '"', "'", ">"])
/** Max brackets and the like around one name. */
const mostMarks = 4
const nouns: ReadonlySet<string> = new Set(["option", "choice", "letter", "answer", "alternative", "number"])
const placeWords = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
const numberWords = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

/** Words that may follow a label and show that it is one: "A because", and not "A dog". */
export const afterLabel: ReadonlySet<string> = new Set(
  (
    "because since as for given due by per with when where and or so then here too indeed again alone only not rather instead over " +
    "but which while though although however yet if unless until except than based according from of in on at under above below " +
    "is are was were isn't aren't wasn't can can't cannot could couldn't must mustn't should would wouldn't will won't has seems " +
    "looks appears remains fits matches works makes it that after before among out definitely clearly obviously surely certainly " +
    "therefore thus hence may might itself nor plus versus"
  ).split(" ")
)

export const choicesOf = (labels: ReadonlyArray<string>, texts: ReadonlyArray<string>): Choices => {
  const whole = labels.map((_, place) => tokensOf(texts[place] ?? ""))
  const articled = new Set(whole.keys().filter((place) => isArticled(whole[place] ?? [])))
  const read = labels.map((label) => tokensOf(label).find(isWord)?.text ?? label)
  return {
    written: labels,
    labels: read,
    texts: whole.map((tokens, place) => trimmed(tokens, articled.has(place) ? 1 : 0)),
    articled
  }
}

const isArticled = (tokens: ReadonlyArray<Token>): boolean => tokens.length > 1 && articles.has(tokens[0]?.word ?? "")

const trimmed = (tokens: ReadonlyArray<Token>, from: number): ReadonlyArray<Token> =>
  tokens.slice(from, 1 + tokens.findLastIndex(({ word }) => !/^[.,;:!\n]+$/.test(word)))

const isWord = (token: Token | undefined): boolean => token !== undefined && /^[\p{L}\p{N}]/u.test(token.word)

/** True if a statement can end before this token. */
export const isEnd = (token: Token | undefined): boolean =>
  token === undefined || /^(?:[\n.,;!?]|\.+)$/.test(token.word)

/** Indices of the choices whose text occurs here, preferring the longest, and the token after it. */
const byText = (tokens: ReadonlyArray<Token>, at: number, { articled, labels, texts }: Choices): Named | undefined => {
  const isArticle = articles.has(tokens[at]?.word ?? "")
  const isLabel = labels.includes(tokens[at]?.text ?? "")
  let best: { readonly places: Array<number>; readonly next: number } | undefined
  for (const [place, text] of texts.entries()) {
    const behind = isArticle && (!isLabel || articled.has(place)) ? [at, at + 1] : [at]
    for (const start of text.length === 0 ? [] : behind) {
      const next = start + text.length
      if (!text.every(({ word }, offset) => tokens[start + offset]?.word === word)) continue
      if (best === undefined || next > best.next) best = { places: [place], next }
      else if (next === best.next && !best.places.includes(place)) best.places.push(place)
    }
  }
  return best && { ...best, isPlain: true }
}

export const named = (tokens: ReadonlyArray<Token>, at: number, choices: Choices): Named | undefined => {
  let from = at
  const whole = byText(tokens, at, choices)
  while (from < at + mostMarks && openers.has(tokens[from]?.word ?? "")) from += 1
  const isOpen = from > at
  const { isNoun, next: noun } = behindNoun(tokens, from)
  const byPlace = placed(tokens, from, noun, isNoun, choices)
  if (byPlace !== undefined) return byPlace
  let label = noun
  const mostLabel = isNoun ? noun + mostMarks : noun
  while (label < mostLabel && openers.has(tokens[label]?.word ?? "")) label += 1
  const labelled = byLabel(tokens, label, choices, isNoun || isOpen || label > noun)
  const text = whole ?? byText(tokens, from, choices)
  if (labelled === undefined) return text && withLabel(tokens, { ...text, next: closed(tokens, text.next) }, choices)
  // "C major" is a text that begins with a label, in quotes too.
  const isLonger =
    text !== undefined &&
    (text.next > labelled.next || (isOpen && text.next === labelled.next && labelled.places.length > 1))
  if (isLonger && !isNoun && (isOpen || !labelled.isPlain)) {
    return { ...text, next: closed(tokens, text.next) }
  }
  // A label that is also the text of another choice (blood groups, small numbers).
  const isBoth = text !== undefined && text.next >= label + 1 && !labelled.isPlain
  return isBoth ? { ...labelled, places: [...new Set([...labelled.places, ...text.places])] } : labelled
}

/** A text followed by a label in brackets, "Paris (B)": ambiguous if they differ. */
const withLabel = (tokens: ReadonlyArray<Token>, text: Named, choices: Choices): Named => {
  const isBracket = /^[([]$/.test(tokens[text.next]?.word ?? "")
  const label = isBracket ? byLabel(tokens, behindNoun(tokens, text.next + 1).next, choices, true) : undefined
  return label === undefined
    ? text
    : { ...text, places: [...new Set([...text.places, ...label.places])], next: label.next }
}

const closed = (tokens: ReadonlyArray<Token>, at: number): number => {
  let next = at
  while (next < at + mostMarks && closers.has(tokens[next]?.word ?? "")) next += 1
  return next
}

/** The token after "option", "the letter", "choice:" and the like. */
const behindNoun = (tokens: ReadonlyArray<Token>, at: number) => {
  const from = tokens[at]?.word === "the" ? at + 1 : at
  if (!nouns.has(tokens[from]?.word ?? "")) return { isNoun: false, next: at }
  let next = from + 1
  if (tokens[next]?.word === "no" && tokens[next + 1]?.word === ".") next += 2
  if (nouns.has(tokens[next]?.word ?? "")) next += 1
  if (tokens[next]?.word === ":") next += 1
  return { isNoun: true, next }
}

/** "the second option", "option 2", "option two". */
const placed = (
  tokens: ReadonlyArray<Token>,
  at: number,
  noun: number,
  isNoun: boolean,
  { labels, texts }: Choices
): Named | undefined => {
  const from = tokens[at]?.word === "the" ? at + 1 : at
  const ordinal = tokens[from]?.word === "last" ? labels.length - 1 : placeWords.indexOf(tokens[from]?.word ?? "")
  const kind = tokens[from + 1]?.word ?? ""
  if (ordinal >= 0 && ordinal < labels.length && (kind === "one" || nouns.has(kind))) {
    return { places: [ordinal], next: from + 2, isPlain: true }
  }
  const placeWord = isNoun ? (tokens[noun]?.word ?? "") : ""
  if (labels.some((label) => label === placeWord)) return undefined
  const place = /^\d{1,2}$/.test(placeWord) ? Number(placeWord) - 1 : numberWords.indexOf(placeWord)
  if (place < 0 || place >= labels.length) return undefined
  const others = texts.flatMap((text, other) => (text.length === 1 && text[0]?.word === placeWord ? [other] : []))
  return { places: [...new Set([place, ...others])], next: noun + 1, isPlain: true }
}

const byLabel = (tokens: ReadonlyArray<Token>, at: number, choices: Choices, isMarked: boolean): Named | undefined => {
  const token = tokens[at]
  if (token === undefined) return undefined
  const place = choices.labels.findIndex((label) => label.toLowerCase() === token.word)
  if (place === -1) return undefined
  const follower = tokens[at + 1]
  const isPointed = follower !== undefined && (follower.word === ")" || follower.word === "]" || follower.word === ":")
  const isSmall = choices.labels[place] !== token.text
  if (isSmall && !isMarked && !isPointed && !isEnd(follower)) return undefined
  // Attached to the following text, it means something else: C++, B-flat, B'.
  if (follower?.word === "'" && !token.isSpaced && tokens[at - 1]?.word !== "'") return undefined
  const isGlued = !token.isSpaced && /^[-+=^%@&~_<|#]/.test(follower?.word ?? "")
  if (isGlued && (follower?.isSpaced === false || /^[-+#]/.test(follower?.word ?? ""))) return undefined
  if (!isMarked && isWord(follower)) {
    const own = byText(tokens, at + 1, choices)?.places.includes(place) === true
    if (!own && !afterLabel.has(follower?.word ?? "")) return undefined
    if (!own && token.word === "i") return undefined
  }
  return withText(tokens, at + 1, place, choices, isMarked || isPointed)
}

/** A label followed by the text of its choice; ambiguous if it is another choice's text. */
const withText = (
  tokens: ReadonlyArray<Token>,
  at: number,
  place: number,
  choices: Choices,
  isMarked: boolean
): Named => {
  const next = closed(tokens, at)
  let start = next
  const isMark = ({ word }: Token) => pointed.has(word) || openers.has(word)
  while (start < next + mostMarks && tokens.slice(start, start + 1).some(isMark)) start += 1
  const text = byText(tokens, start, choices)
  if (text?.places.includes(place) === true) {
    return { places: [place], next: closed(tokens, text.next), isPlain: true, hasText: true }
  }
  if (text !== undefined && isEnd(tokens[closed(tokens, text.next)]) && tokens[start - 1]?.word !== ",") {
    return { places: [place, ...text.places], next: text.next, isPlain: isMarked }
  }
  // "A. is wrong": the point does not end it.
  const follower = tokens[start]
  const goesOn =
    start === next + 1 &&
    tokens[next]?.word === "." &&
    follower !== undefined &&
    follower.text === follower.word &&
    afterLabel.has(follower.word)
  return { places: [place], next: goesOn ? start : next, isPlain: isMarked }
}
