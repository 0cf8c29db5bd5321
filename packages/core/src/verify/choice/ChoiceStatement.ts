/**
 * What a clause says of choices, in a small grammar of closed lists (`ChoiceWords`): "the answer is B", "I choose B",
 * "it must be B", "B is correct", "B". A clause that is none of these says nothing.
 */
import { type Clauses, clauseEnd, joins, type Verb } from "./ChoiceClause.ts"
import { type Choices, isEnd, type Named, type Token } from "./ChoiceTokens.ts"
import * as Words from "./ChoiceWords.ts"

/** How it is said: as the answer, as what is so, or by nothing but its name. */
export type Strength = "announced" | "stated" | "alone"

export interface Claim {
  /** The place of the choice. */
  readonly place: number
  readonly strength: Strength
}

/** That a choice is the answer. */
export interface Said extends Claim {
  readonly _tag: "claim"
  readonly isFinal: boolean
  readonly next: number
}
/** That it may be one of several. */
interface Hedge {
  readonly _tag: "hedge"
  readonly next: number
}
/** That it is none of these. */
interface Denial {
  readonly _tag: "denial"
  readonly places: ReadonlyArray<number>
  readonly next: number
}
/** That what was said is not so. */
interface Retraction {
  readonly _tag: "retraction"
  readonly next: number
}
export type Statement = Said | Hedge | Denial | Retraction

/** The token behind what a statement is about, "the final answer". */
interface Subject {
  readonly next: number
  readonly isFinal: boolean
}

/** Reads the statement that begins at a token. */
export const statementsOf = (
  tokens: ReadonlyArray<Token>,
  choices: Choices,
  { behindQuote, complement, copula, deniesItself, holds, isOneOfMany, list, skip, word }: Clauses
) => {
  const claim = (
    { places, next }: Named,
    strength: Strength,
    { isFinal = false, isEither = false }: { readonly isFinal?: boolean; readonly isEither?: boolean } = {}
  ): Statement | undefined => {
    const [place, ...more] = places
    if (place === undefined || more.length > 0 || isEither) return { _tag: "hedge", next }
    return holds(next) ? { _tag: "claim", place, strength, isFinal, next } : undefined
  }

  /** What is said behind a copula: a claim, or "not A but B", or a denial. */
  const said = (verb: Verb, strength: Strength, isFinal = false): Statement | undefined => {
    const found = complement(verb.next)
    if (found === undefined) return undefined
    if (!verb.isDenied && !found.isNeither) return claim(found.found, strength, { isFinal, isEither: found.isEither })
    const comma = word(found.found.next) === "," ? found.found.next + 1 : found.found.next
    const instead = /^(?:but|rather)$/.test(word(comma)) ? complement(comma + 1) : undefined
    return instead === undefined
      ? { _tag: "denial", places: found.found.places, next: found.found.next }
      : claim(instead.found, strength, { isFinal, isEither: instead.isEither })
  }
  /** The token behind "the correct answer to the question". */
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
      // A question that is quoted may have marks of its own.
      if (word(next) === '"') next = behindQuote(next)
      const token = tokens[next]
      if (token === undefined || Words.denies(token) || (clauseEnd.test(token.word) && token.word !== ":"))
        return undefined
      if (copula(next) !== undefined || Words.marks.has(token.word)) return { next, isFinal }
    }
    return undefined
  }

  /** `"answer":`, as JSON has it. */
  const key = (at: number): Subject | undefined =>
    word(at) === '"' && Words.answerNouns.has(word(at + 1)) && word(at + 2) === '"' && word(at + 3) === ":"
      ? { next: at + 3, isFinal: false }
      : undefined

  const announced = (at: number): Statement | undefined => {
    const about = subject(at) ?? key(at)
    if (about === undefined) return undefined
    const { isFinal, next } = about
    const verb = copula(next)
    if (verb !== undefined) return said(verb, "announced", isFinal) ?? unsaid(verb)
    const isMark = Words.marks.has(word(next)) || (word(next) === "-" && tokens[next]?.isSpaced === true)
    if (isMark || word(next) === "?" || word(next) === "\n") {
      const behind = word(next) === "=" && word(next + 1) === "=" ? next + 2 : next + 1
      return said({ next: behind, isDenied: false }, "announced", isFinal)
    }
    const direct = next === at + 1 || isFinal ? list(next) : undefined
    return direct && isEnd(tokens[direct.next]) ? claim(direct, "announced", { isFinal }) : undefined
  }

  /** "That is wrong", "the answer is not right". */
  const unsaid = ({ isDenied, next }: Verb): Statement | undefined => {
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
      return said(verb, "stated") ?? unsaid(verb)
    }
    const verb = Words.pronouns.has(word(at)) ? copula(at + 1) : undefined
    return verb && (said(verb, "stated") ?? unsaid(verb))
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
      const found = complement(next)
      return found && claim(found.found, "announced", { isEither: found.isEither })
    }
    next = skip(at, Words.pronouns)
    if (!Words.leaving.has(word(next))) return undefined
    const left = list(skip(next + 1, Words.leavingFillers))
    return left && claim(left, "stated")
  }

  /** "B is correct", "B fits best", "A is wrong", and "B" alone where a statement may begin. */
  const judged = (at: number, mayStandAlone: boolean): Statement | undefined => {
    // "Or maybe C", "so is C".
    const isAdded = /^(?:or|nor|alternatively|is|are)$/.test(word(at))
    const found = list(isAdded ? skip(at + 1, joins) : at)
    if (found === undefined) return undefined
    if (isAdded) return { _tag: "hedge", next: found.next }
    const after = word(found.next)
    if (after === "it" && word(found.next + 1) === "is") return claim({ ...found, next: found.next + 2 }, "stated")
    const verb = Words.fitting.has(after) ? undefined : copula(found.next)
    if (verb !== undefined) {
      let next = verb.next
      while (Words.adverbs.has(word(next)) || Words.determiners.has(word(next)) || Words.qualities.has(word(next)))
        next += 1
      if (Words.judged.has(word(next))) next += 1
      const isJudged = tokens.slice(verb.next, next).some((token) => Words.judged.has(token.word))
      const isNegative = verb.isDenied || tokens.slice(next, next + 1).some(Words.denies)
      if (isNegative) return { _tag: "denial", places: found.places, next }
      if (isJudged) return claim({ ...found, next }, "stated", { isEither: word(at) === "neither" })
    } else if (Words.fitting.has(after)) {
      return claim({ ...found, next: found.next + (/^(?:best|only)$/.test(word(found.next + 1)) ? 2 : 1) }, "stated")
    } else if (after !== "not" && tokens.slice(found.next, found.next + 1).some(Words.denies)) {
      return { _tag: "denial", places: found.places, next: found.next }
    }
    return mayStandAlone ? alone(at, found, verb !== undefined) : undefined
  }

  const isNumber = (place: number): boolean => /^\d+$/.test(choices.labels[place] ?? "")

  const alone = (at: number, found: Named, isExplained: boolean): Statement | undefined => {
    if (found.places.length > 1 || isOneOfMany(found)) return { _tag: "hedge", next: found.next }
    // "1. First we add": a number by itself is a choice only as a whole line.
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
    return found.isTold === true && !deniesItself(found.next)
      ? { _tag: "claim", place: found.places[0] ?? 0, strength: "alone", isFinal: false, next: found.next }
      : undefined
  }

  return (
    at: number,
    { mayBeJudged, mayStandAlone }: { readonly mayBeJudged: boolean; readonly mayStandAlone: boolean }
  ): Statement | undefined =>
    announced(at) ?? stated(at) ?? chosen(at) ?? (mayBeJudged ? judged(at, mayStandAlone) : undefined)
}
