/** Parses statements that begin with a choice: "B is correct", "A is wrong", and "B" alone. */
import type { Clauses } from "./ChoiceClause.ts"
import { joins, type Names } from "./ChoiceNames.ts"
import type { Assert, Statement } from "./ChoiceAssertion.ts"
import { type Choices, isEnd, type Named, type Token } from "./ChoiceTokens.ts"
import type { Verbs } from "./ChoiceVerbs.ts"
import * as Words from "./ChoiceWords.ts"

/** Parses the statement of a choice named at a token. */
export const judgementsOf = (
  tokens: ReadonlyArray<Token>,
  choices: Choices,
  { list, skip, word }: Names,
  { copula }: Verbs,
  { deniesItself, isOneOfMany }: Clauses,
  claim: Assert
) => {
  /** "B is correct", "B fits best", "A is wrong", and "B" alone where a statement may begin. */
  const judged = (at: number, mayStandAlone: boolean): Statement | undefined => {
    // "Or maybe C", "so is C".
    const isAdded = /^(?:or|nor|alternatively|is|are)$/.test(word(at))
    const choice = list(isAdded ? skip(at + 1, joins) : at)
    if (choice === undefined) return undefined
    if (isAdded) return { _tag: "hedge", next: choice.next }
    const after = word(choice.next)
    // "B is correct, A also."
    if (/^(?:also|too|likewise)$/.test(after) && isEnd(tokens[choice.next + 1]))
      return { _tag: "hedge", next: choice.next }
    if (after === "it" && word(choice.next + 1) === "is") return claim({ ...choice, next: choice.next + 2 }, "stated")
    const verb = Words.fitting.has(after) ? undefined : copula(choice.next)
    if (verb !== undefined) {
      let next = verb.next
      while (Words.adverbs.has(word(next)) || Words.determiners.has(word(next)) || Words.qualities.has(word(next)))
        next += 1
      if (Words.judged.has(word(next))) next += 1
      const isJudged = tokens.slice(verb.next, next).some((token) => Words.judged.has(token.word))
      const isNegative = verb.isDenied || tokens.slice(next, next + 1).some(Words.denies)
      if (isNegative) return { _tag: "denial", places: choice.places, next }
      if (isJudged) return claim({ ...choice, next }, "stated", { isEither: word(at) === "neither" })
    } else if (Words.fitting.has(after)) {
      return claim({ ...choice, next: choice.next + (/^(?:best|only)$/.test(word(choice.next + 1)) ? 2 : 1) }, "stated")
    } else if (after !== "not" && tokens.slice(choice.next, choice.next + 1).some(Words.denies)) {
      return { _tag: "denial", places: choice.places, next: choice.next }
    }
    return mayStandAlone ? alone(at, choice, verb !== undefined) : undefined
  }

  const isNumber = (place: number): boolean => /^\d+$/.test(choices.labels[place] ?? "")

  const alone = (at: number, found: Named, isExplained: boolean): Statement | undefined => {
    if (found.places.length > 1 || isOneOfMany(found)) return { _tag: "hedge", next: found.next }
    // "1. First we add": a number alone is a choice only as a whole line.
    if (found.places.some(isNumber)) {
      const end = word(found.next) === "." ? found.next + 1 : found.next
      const isLine = (at === 0 || word(at - 1) === "\n") && (tokens[end] === undefined || word(end) === "\n")
      return isLine ? claim(found, "alone") : undefined
    }
    if (!isExplained) {
      const isDenied = (found.isPlain || /^[-–—:]$/.test(word(found.next))) && deniesItself(found.next)
      return isDenied ? { _tag: "denial", places: found.places, next: found.next } : claim(found, "alone")
    }
    // "B. Paris is the capital."
    return found.hasText === true && !deniesItself(found.next)
      ? { _tag: "claim", place: found.places[0] ?? 0, strength: "alone", isFinal: false, next: found.next }
      : undefined
  }

  return judged
}
