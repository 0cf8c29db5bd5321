/** Parses the parts of a clause about choices: its end, and whether the following text leaves a named choice valid. */
import { afterLabel, type Choices, isEnd, type Named, type Token } from "./ChoiceTokens.ts"
import type { Names } from "./ChoiceNames.ts"
import * as Words from "./ChoiceWords.ts"

/** Max tokens considered after the named choice. */
const reach = 100

export const sentenceEnd = /^(?:[\n.;!?]|\.+)$/
export const clauseEnd = /^(?:[\n.;!?,:(–—]|\.+)$/

export type Clauses = ReturnType<typeof clausesOf>

/** Finds the parts in one text. All functions take a token index. */
export const clausesOf = (tokens: ReadonlyArray<Token>, choices: Choices, { nameAt, word }: Names) => {
  /** True if nothing after a named choice takes it back; `mayHaveText`: words may follow its label. */
  const holds = (at: number, mayHaveText: boolean): boolean => {
    const first = tokens[at]
    if (first === undefined) return true
    if (!/^(?:[\n.,;:!?([–—✓✔✅-]|\.+)$/.test(first.word)) {
      const isKnown = afterLabel.has(first.word) || (mayHaveText && isUnknownText(at, first))
      if (Words.opening.has(first.word) || !isKnown) return false
      if (first.word === "not" && nameAt(at + 1) === undefined) return false
    }
    let isContrast = false
    let isReason = Words.subordinators.has(first.word)
    let names = 0
    for (let next = at; next < at + reach; next += 1) {
      const token = tokens[next]
      if (token === undefined) return true
      if (sentenceEnd.test(token.word)) return token.word !== "?"
      if (clauseEnd.test(token.word) || token.word === "[" || Words.conjunctions.has(token.word)) {
        const begun = Words.conjunctions.has(token.word) ? token.word : word(next + 1)
        const isOpen = begun === "or" || begun === "if" || begun === "unless" || begun === "until"
        if (isOpen && !isReason) return false
        isReason ||= Words.subordinators.has(begun) || isAboutOthers(next)
        isContrast = token.word !== ":" || !isReason
        names = 0
      }
      if (choices.labels.includes(token.text) || nameAt(next)?.isPlain === true) names += 1
      if (isContrast && !isReason && names === 0 && Words.depends(token) && !isOwnView(next)) {
        if (nameAt(next + 1) === undefined) return false
      }
    }
    return true
  }

  /** "B) Paris" where the texts of choices are not known: words that neither deny, doubt nor name another choice. */
  const isUnknownText = (at: number, first: Token): boolean => {
    if (choices.texts.some((text) => text.length > 0) || !/^[)\]]$/.test(word(at - 1)) || !/^\p{L}/u.test(first.word))
      return false
    if (Words.conjunctions.has(first.word) || deniesItself(at)) return false
    for (let next = at; next < at + reach; next += 1) {
      const token = tokens[next]
      if (token === undefined || sentenceEnd.test(token.word)) return true
      if (Words.depends(token) || choices.labels.includes(token.text)) return false
    }
    return false
  }

  /** ", and all the others are wrong" */
  const isAboutOthers = (at: number): boolean => {
    let next = at
    while (/^(?:[,;]|and|while|whereas|all|of|the)$/.test(word(next)) && next < at + 6) next += 1
    return /^(?:others?|rest|remaining)$/.test(word(next))
  }

  const isOwnView = (at: number): boolean => /^(?:i|i'd|we|would)$/.test(word(at - 1))

  /** True if the line continues with other choices by their labels: "(A) London (B) Paris". */
  const isOneOfMany = ({ next, places }: Named): boolean => {
    for (let other = next; other < next + reach; other += 1) {
      const token = tokens[other]
      if (token === undefined || token.word === "\n" || Words.subordinators.has(token.word)) return false
      if (!choices.labels.includes(token.text)) continue
      const choice = nameAt(other)
      if (choice === undefined || choice.places.some((place) => places.includes(place))) continue
      const isLabelled = choice.hasText === true || /^[)\]:]$/.test(word(other + 1))
      const isSetAgainst = /^(?:not|than|nor|of)$/.test(word(other - 1))
      if (isLabelled && !isSetAgainst) return true
    }
    return false
  }

  /** True if the rest of the sentence denies a choice: "A: wrong", "A) No, because". */
  const deniesItself = (at: number): boolean => {
    const from = /^[.:–—-]$/.test(word(at)) ? at + 1 : at
    for (let next = from; next < from + reach; next += 1) {
      const token = tokens[next]
      if (token === undefined || sentenceEnd.test(token.word) || Words.subordinators.has(token.word))
        return token?.word === "?"
      if (Words.denies(token) && nameAt(next + 1) === undefined) return true
    }
    return false
  }

  /** True if a clause is only the name of a choice, "No" if that is one. */
  const isName = (at: number): boolean => {
    const choice = nameAt(at)
    return choice !== undefined && isEnd(tokens[choice.next])
  }

  /** True if a clause ends here; a label's own bracket does not end it. */
  const isBoundary = (at: number): boolean => {
    const token = tokens[at]
    if (token === undefined) return true
    return clauseEnd.test(token.word) && (token.word !== "(" || nameAt(at) === undefined)
  }

  /** The token after the current clause. */
  const endOfClause = (start: number, from: number, isDenied: boolean): number => {
    for (let next = from; next < tokens.length; next += 1) {
      const token = tokens[next]
      // "Not A, B": a list after a denial is denied too.
      if (token === undefined || (isDenied && token.word === ",")) continue
      // "A. London": the point does not end it.
      const label = choices.labels.includes(token.text) ? nameAt(next) : undefined
      if (label?.hasText === true) next = label.next - 1
      else if (isBoundary(next)) return next + 1
      else if (next > start && Words.speakers.has(token.word) && Words.choosing.has(word(next + 1))) return next
      else if (next > start && Words.conjunctions.has(token.word)) return next
    }
    return tokens.length
  }

  const afterQuote = (at: number): number => {
    const length = tokens.slice(at + 1, at + reach).findIndex((token) => token.word === '"')
    return at + 2 + length
  }

  return { afterQuote, deniesItself, endOfClause, holds, isBoundary, isName, isOneOfMany }
}
