/**
 * The parts of a clause about choices: where it ends, what is named in it, its verb, and whether what follows leaves it
 * standing.
 */
import { afterLabel, type Choices, isEnd, type Named, named, type Token } from "./ChoiceTokens.ts"
import * as Words from "./ChoiceWords.ts"

/** What is named behind a verb. */
export interface Complement {
  readonly found: Named
  readonly isEither: boolean
  readonly isNeither: boolean
}

/** The token behind a verb, and whether it denies. */
export interface Verb {
  readonly next: number
  readonly isDenied: boolean
}

/** How far a statement is looked at beyond the choice it names, in tokens. */
const reach = 100

/** Choices that are named in a row. */
const longestList = 30

export const sentenceEnd = /^(?:[\n.;!?]|\.+)$/
export const clauseEnd = /^(?:[\n.;!?,:(–—]|\.+)$/

/** Joins choices to a list. */
export const joins: ReadonlySet<string> = new Set(
  ", / & and or nor vs. versus plus also possibly maybe perhaps even alternatively else".split(" ")
)

export type Clauses = ReturnType<typeof clausesOf>

/** Finds the parts in one text. Everything is asked for by the place of a token. */
export const clausesOf = (tokens: ReadonlyArray<Token>, choices: Choices) => {
  const names: Array<Named | null> = []
  const nameAt = (at: number): Named | undefined => {
    names[at] ??= named(tokens, at, choices) ?? null
    return names[at] ?? undefined
  }
  const word = (at: number): string => tokens[at]?.word ?? ""
  const skip = (at: number, words: ReadonlySet<string>): number => {
    let next = at
    while (words.has(word(next))) next += 1
    return next
  }

  /** Choices that are named in a row, joined by commas or words. */
  const list = (at: number): Named | undefined => {
    const start = word(at) === "either" || word(at) === "both" || word(at) === "neither" ? at + 1 : at
    const first = nameAt(start)
    if (first === undefined) return undefined
    const places = new Set(first.places)
    let next = first.next
    for (let length = 1; length < longestList; length += 1) {
      const more = another(next)
      if (more === undefined) break
      for (const place of more.places) places.add(place)
      next = more.next
    }
    return next === first.next ? first : { places: Array.from(places), next, isPlain: first.isPlain }
  }

  const another = (at: number): Named | undefined => {
    const isPair = word(at) === "as" && word(at + 1) === "well" && word(at + 2) === "as"
    const from = isPair ? at + 3 : skip(at, joins)
    const more = from === at ? undefined : nameAt(from)
    if (more === undefined) return undefined
    const isChoice = tokens.slice(at, from).some((token) => /^(?:or|nor|\/|vs\.|versus)$/.test(token.word))
    // "B, A is wrong" goes on with another statement.
    const follower = word(more.next)
    return !isChoice && Words.verbs.has(follower) ? undefined : more
  }

  /** The token behind "is", "must be" and their kin, and whether they deny. */
  const copula = (at: number): Verb | undefined => {
    const first = word(at)
    const isNegative = first.endsWith("n't") || first === "cannot"
    if (/^(?:seems|appears|turns)$/.test(first) && word(at + 1) !== "to" && word(at + 1) !== "out") {
      return first === "seems" ? { next: at + 1, isDenied: false } : undefined
    }
    if (Words.copulas.has(first) || /^(?:is|are|was)n't$/.test(first)) {
      const next = skip(at + 1, Words.adverbs)
      const isDenied = word(next) === "not" || word(next) === "never"
      return { next: isDenied ? next + 1 : at + 1, isDenied: isDenied || isNegative }
    }
    if (!Words.modals.has(first) && !isNegative && first !== "could") return undefined
    let next = at + 1
    let isDenied = isNegative
    while (Words.adverbs.has(word(next)) || Words.modalFillers.has(word(next)) || /^(?:not|never)$/.test(word(next))) {
      isDenied ||= word(next) === "not" || word(next) === "never"
      next += 1
    }
    // "It could be A" says nothing, "it could not be A" does.
    if (word(next) !== "be" || (first === "could" && !isDenied)) return undefined
    return { next: next + 1, isDenied }
  }

  /** What is named behind a copula, after words that change nothing. */
  const complement = (at: number): Complement | undefined => {
    for (let next = at; next < at + 8; next += 1) {
      const found = list(next)
      const pair = word(next) === "either" || word(next) === "neither" ? word(next) : undefined
      if (found !== undefined) return { found, isEither: pair === "either", isNeither: pair === "neither" }
      const isAside = word(next) === "," && (word(next + 1) === "of" || word(next - 1) === "course")
      if (!Words.adverbs.has(word(next)) && !isAside && !/^(?:[:\n]|either)$/.test(word(next))) return undefined
    }
    return undefined
  }

  /** Whether nothing behind a named choice takes it back. */
  const holds = (at: number): boolean => {
    const first = tokens[at]
    if (first === undefined) return true
    if (!/^(?:[\n.,;:!?(–—✓✔✅-]|\.+)$/.test(first.word)) {
      if (Words.opening.has(first.word) || !afterLabel.has(first.word)) return false
      if (first.word === "not" && nameAt(at + 1) === undefined) return false
    }
    let isContrast = false
    let isReason = Words.subordinators.has(first.word)
    let names = 0
    for (let next = at; next < at + reach; next += 1) {
      const token = tokens[next]
      if (token === undefined) return true
      if (sentenceEnd.test(token.word)) return token.word !== "?"
      if (clauseEnd.test(token.word) || Words.conjunctions.has(token.word)) {
        const begun = Words.conjunctions.has(token.word) ? token.word : word(next + 1)
        const isOpen = begun === "or" || begun === "if" || begun === "unless" || begun === "until"
        if (isOpen && !isReason) return false
        isReason ||= Words.subordinators.has(begun)
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

  const isOwnView = (at: number): boolean => /^(?:i|i'd|we|would)$/.test(word(at - 1))

  /** Whether the line goes on with other choices by their labels: "(A) London (B) Paris". */
  const isOneOfMany = ({ next, places }: Named): boolean => {
    for (let other = next; other < next + reach; other += 1) {
      const token = tokens[other]
      if (token === undefined || token.word === "\n" || Words.subordinators.has(token.word)) return false
      const found = choices.labels.includes(token.text) ? nameAt(other) : undefined
      const isLabelled = found?.isTold === true || /^[)\]:]$/.test(word(other + 1))
      const isSetAgainst = /^(?:not|than|nor|of)$/.test(word(other - 1))
      if (found !== undefined && isLabelled && !isSetAgainst && !found.places.some((place) => places.includes(place)))
        return true
    }
    return false
  }

  /** Whether what is said of a choice up to the sentence's end denies: "A: wrong", "A) No, because". */
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

  /** Whether a clause is nothing but the name of a choice, "No" where that is one. */
  const isName = (at: number): boolean => {
    const found = nameAt(at)
    return found !== undefined && isEnd(tokens[found.next])
  }

  /** Whether a clause ends here; a label's own bracket ends none. */
  const isBoundary = (at: number): boolean => {
    const token = tokens[at]
    if (token === undefined) return true
    return clauseEnd.test(token.word) && (token.word !== "(" || nameAt(at) === undefined)
  }

  /** The token behind the clause that goes on here. */
  const endOfClause = (start: number, from: number, isDenied: boolean): number => {
    for (let next = from; next < tokens.length; next += 1) {
      const token = tokens[next]
      // "Not A, B": what is listed after a denial is denied too.
      if (token === undefined || (isDenied && token.word === ",")) continue
      // "A. London": the point is no end.
      const told = choices.labels.includes(token.text) ? nameAt(next) : undefined
      if (told?.isTold === true) next = told.next - 1
      else if (isBoundary(next)) return next + 1
      else if (next > start && Words.speakers.has(token.word) && Words.choosing.has(word(next + 1))) return next
      else if (next > start && Words.conjunctions.has(token.word)) return next
    }
    return tokens.length
  }

  /** The token behind a quotation. */
  const behindQuote = (at: number): number => {
    const length = tokens.slice(at + 1, at + reach).findIndex((token) => token.word === '"')
    return at + 2 + length
  }

  return {
    behindQuote,
    complement,
    copula,
    deniesItself,
    endOfClause,
    holds,
    isBoundary,
    isName,
    isOneOfMany,
    list,
    skip,
    word
  }
}
