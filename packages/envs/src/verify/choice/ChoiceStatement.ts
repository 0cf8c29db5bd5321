/**
 * Parses a clause about choices with a small grammar of closed lists (`ChoiceWords`): "the answer is B", "I choose B",
 * "it must be B", "B is correct", "B". Any other clause is ignored.
 */
import { assertion, type Statement, type Strength } from "./ChoiceAssertion.ts"
import { clauseEnd, type Clauses } from "./ChoiceClause.ts"
import { judgementsOf } from "./ChoiceJudgement.ts"
import type { Names } from "./ChoiceNames.ts"
import { type Choices, isEnd, type Token } from "./ChoiceTokens.ts"
import { type Verb, type Verbs, verbsOf } from "./ChoiceVerbs.ts"
import * as Words from "./ChoiceWords.ts"

/**
 * Parses the subject of a statement, "the final answer", with a small grammar of closed lists (`ChoiceWords`).
 * The token after a statement's subject, "the final answer".
 */
interface Subject {
  readonly next: number
  readonly isFinal: boolean
}

/** Parses the subject of the statement that begins at a token. */
const subjectsOf = (
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

export const statementsOf = (tokens: ReadonlyArray<Token>, choices: Choices, names: Names, clauses: Clauses) => {
  const { list, skip, word } = names
  const verbs = verbsOf(names)
  const { complement, copula } = verbs
  const claim = assertion(clauses)
  const subject = subjectsOf(tokens, names, verbs, clauses.afterQuote)
  const judged = judgementsOf(tokens, choices, names, verbs, clauses, claim)

  /** The predicate after a copula: a claim, or "not A but B", or a denial. */
  const predicated = (verb: Verb, strength: Strength, isFinal = false): Statement | undefined => {
    const what = complement(verb.next)
    if (what === undefined) return undefined
    const { isEither, isNeither, named } = what
    if (!verb.isDenied && !isNeither) return claim(named, strength, { isFinal, isEither })
    const comma = word(named.next) === "," ? named.next + 1 : named.next
    const instead = /^(?:but|rather)$/.test(word(comma)) ? complement(comma + 1) : undefined
    return instead === undefined
      ? { _tag: "denial", places: named.places, next: named.next }
      : claim(instead.named, strength, { isFinal, isEither: instead.isEither })
  }
  const announced = (at: number): Statement | undefined => {
    const about = subject(at)
    if (about === undefined) return undefined
    const { isFinal, next } = about
    const verb = copula(next)
    if (verb !== undefined) return predicated(verb, "announced", isFinal) ?? retracted(verb)
    const isMark = Words.marks.has(word(next)) || (/^[-–—]$/.test(word(next)) && tokens[next]?.isSpaced === true)
    if (isMark || word(next) === "?" || word(next) === "\n") {
      const after = word(next) === "=" && word(next + 1) === "=" ? next + 2 : next + 1
      return predicated({ next: after, isDenied: false }, "announced", isFinal)
    }
    const direct = next === at + 1 || isFinal ? list(next) : undefined
    return direct && isEnd(tokens[direct.next]) ? claim(direct, "announced", { isFinal }) : undefined
  }

  /** "That is wrong", "the answer is not right". */
  const retracted = ({ isDenied, next }: Verb): Statement | undefined => {
    const from = skip(next, new Set([...Words.adverbs, "a", "an", "the"]))
    const isWrong = /^(?:wrong|incorrect|false|mistaken|untrue|mistake|joke|lie|error|invalid|trap|bluff)$/.test(
      word(from)
    )
    const isUnright =
      isDenied && (isEnd(tokens[from]) || /^(?:right|correct|true|it|answer|accurate|possible)$/.test(word(from)))
    return isWrong !== isUnright ? { _tag: "retraction", next: from } : undefined
  }

  const stated = (at: number): Statement | undefined => {
    if (Words.shortened.has(word(at))) {
      const isDenied = word(at + 1) === "not"
      const verb = { next: isDenied ? at + 2 : at + 1, isDenied }
      return predicated(verb, "stated") ?? retracted(verb)
    }
    const noun = /^(?:this|that)$/.test(word(at)) && Words.answerNouns.has(word(at + 1)) ? at + 2 : at + 1
    const verb = Words.pronouns.has(word(at)) ? copula(noun) : undefined
    return verb && (predicated(verb, "stated") ?? retracted(verb))
  }

  const chosen = (at: number): Statement | undefined => {
    let next = Words.speakers.has(word(at)) ? skip(at + 1, Words.choosingFillers) : at
    if (Words.excluding.has(word(next))) {
      const excluded = list(skip(next + 1, Words.excludingFillers))
      return excluded && { _tag: "denial", places: excluded.places, next: excluded.next }
    }
    const isChoice = Words.choosing.has(word(next))
    if (isChoice || (Words.speakers.has(word(at)) && word(next) === "say")) {
      while (Words.choosing.has(word(next)) || Words.choosingPrepositions.has(word(next)) || word(next) === "say")
        next += 1
      const choice = complement(next)
      return choice && claim(choice.named, "announced", { isEither: choice.isEither })
    }
    next = skip(at, Words.pronouns)
    if (!Words.leaving.has(word(next))) return undefined
    const left = list(skip(next + 1, Words.leavingFillers))
    return left && claim(left, "stated")
  }

  return (
    at: number,
    { mayBeJudged, mayStandAlone }: { readonly mayBeJudged: boolean; readonly mayStandAlone: boolean }
  ): Statement | undefined =>
    announced(at) ?? stated(at) ?? chosen(at) ?? (mayBeJudged ? judged(at, mayStandAlone) : undefined)
}
