/** Parses the subject of a statement, "the final answer", with a small grammar of closed lists (`ChoiceWords`). */
import { clauseEnd } from "./ChoiceClause.ts"
import type { Names } from "./ChoiceNames.ts"
import type { Token } from "./ChoiceTokens.ts"
import type { Verbs } from "./ChoiceVerbs.ts"
import * as Words from "./ChoiceWords.ts"

/** The token after a statement's subject, "the final answer". */
export interface Subject {
  readonly next: number
  readonly isFinal: boolean
}

/** Parses the subject of the statement that begins at a token. */
export const subjectsOf = (
  tokens: ReadonlyArray<Token>,
  { skip, word }: Names,
  { copula }: Verbs,
  afterQuote: (at: number) => number
) => {
  /** The token after "the correct answer to the question". */
  const subject = (at: number): Subject | undefined => {
    const noun = skip(skip(at, Words.determiners), Words.qualities)
    if (word(noun) === "answer's") return { next: noun, isFinal: false }
    const isQualified =
      noun > skip(at, Words.determiners) || word(at) === "my" || (word(at) === "the" && word(noun) === "choice")
    if (!Words.answerNouns.has(word(noun)) && !(isQualified && Words.choiceNouns.has(word(noun)))) return undefined
    const isFinal = tokens.slice(at, noun).some((token) => token.word === "final")
    let next = noun + 1
    if (!Words.prepositions.has(word(next))) return { next, isFinal }
    for (let length = 0; length < 10; length += 1, next += 1) {
      // A quoted question may contain its own punctuation.
      if (word(next) === '"') next = afterQuote(next)
      const token = tokens[next]
      if (token === undefined || Words.denies(token) || (clauseEnd.test(token.word) && token.word !== ":"))
        return undefined
      if (copula(next) !== undefined || Words.marks.has(token.word)) return { next, isFinal }
    }
    return undefined
  }

  /** `"answer":`, as in JSON. */
  const key = (at: number): Subject | undefined =>
    word(at) === '"' && Words.answerNouns.has(word(at + 1)) && word(at + 2) === '"' && word(at + 3) === ":"
      ? { next: at + 3, isFinal: false }
      : undefined

  return (at: number): Subject | undefined => subject(at) ?? key(at)
}
