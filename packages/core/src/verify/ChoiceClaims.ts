/**
 * What a text says about the choices of a question: which one it claims to be the answer.
 *
 * Clauses are read by a small grammar of closed lists (`ChoiceWords`): "the answer is B", "I choose B", "it must be B", "B is correct",
 * "B". A clause that it cannot read says nothing; a clause in a question, under a condition, in someone else's mouth or beside a
 * denial that it cannot read says nothing either. Statements are then weighed in order: what is taken back or denied falls, several at
 * once are none, and where two contradict each other the later one counts only if it says that it concludes or corrects.
 */
import { afterLabel, type Choices, isEnd, type Named, named, type Token, tokensOf } from "./ChoiceTokens.ts"
import * as Words from "./ChoiceWords.ts"

/** How it is said: as the answer, as what is so, or by nothing but its name. */
export type Strength = "announced" | "stated" | "alone"

export interface Claim {
  /** The place of the choice. */
  readonly place: number
  readonly strength: Strength
}

interface Said extends Claim {
  readonly _tag: "claim"
  readonly isFinal: boolean
  readonly next: number
}
interface Hedge {
  readonly _tag: "hedge"
  readonly next: number
}
interface Denial {
  readonly _tag: "denial"
  readonly places: ReadonlyArray<number>
  readonly next: number
}
interface Retraction {
  readonly _tag: "retraction"
  readonly next: number
}
type Statement = Said | Hedge | Denial | Retraction

/** What is named behind a verb. */
interface Complement {
  readonly found: Named
  readonly isEither: boolean
  readonly isNeither: boolean
}

const weights: { readonly [strength in Strength]: number } = { alone: 0, stated: 1, announced: 2 }

/** How far a statement is looked at beyond the choice it names, in tokens. */
const reach = 100

/** Choices that are named in a row. */
const longestList = 30

const sentenceEnd = /^(?:[\n.;!?]|\.+)$/
const clauseEnd = /^(?:[\n.;!?,:(–—]|\.+)$/

/** Reads the statements of one text. */
const reader = (tokens: ReadonlyArray<Token>, choices: Choices) => {
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

  const joins = new Set([
    ",",
    "/",
    "&",
    "and",
    "or",
    "nor",
    "vs.",
    "versus",
    "plus",
    "also",
    "possibly",
    "maybe",
    "perhaps",
    "even",
    "alternatively",
    "else"
  ])
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
  const copula = (at: number): { readonly next: number; readonly isDenied: boolean } | undefined => {
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
  const said = (
    verb: { readonly next: number; readonly isDenied: boolean },
    strength: Strength,
    isFinal = false
  ): Statement | undefined => {
    const found = complement(verb.next)
    if (found === undefined) return undefined
    if (!verb.isDenied && !found.isNeither) return claim(found.found, strength, { isFinal, isEither: found.isEither })
    const comma = word(found.found.next) === "," ? found.found.next + 1 : found.found.next
    const instead = /^(?:but|rather)$/.test(word(comma)) ? complement(comma + 1) : undefined
    return instead === undefined
      ? { _tag: "denial", places: found.found.places, next: found.found.next }
      : claim(instead.found, strength, { isFinal, isEither: instead.isEither })
  }

  const behindQuote = (at: number): number => {
    const length = tokens.slice(at + 1, at + reach).findIndex((token) => token.word === '"')
    return at + 2 + length
  }

  /** The token behind "the correct answer to the question". */
  const subject = (at: number): { readonly next: number; readonly isFinal: boolean } | undefined => {
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
  const key = (at: number): { readonly next: number; readonly isFinal: boolean } | undefined =>
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
  const unsaid = ({ isDenied, next }: { readonly next: number; readonly isDenied: boolean }): Statement | undefined => {
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

  const statement = (
    at: number,
    { mayBeJudged, mayStandAlone }: { readonly mayBeJudged: boolean; readonly mayStandAlone: boolean }
  ): Statement | undefined =>
    announced(at) ?? stated(at) ?? chosen(at) ?? (mayBeJudged ? judged(at, mayStandAlone) : undefined)

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

  return { statement, endOfClause, isBoundary, isName, word }
}

/** The state of the weighing: what is claimed so far; no place where claims contradict each other. */
interface State {
  readonly place: number | undefined
  readonly strength: Strength
  readonly isFinal: boolean
}

const weighed = (state: State | undefined, claim: Said, isTurn: boolean): State => {
  const { isFinal, place } = claim
  const strength = claim.strength === "alone" && isTurn ? "stated" : claim.strength
  if (state === undefined || isTurn || (isFinal && !state.isFinal)) return { place, strength: claim.strength, isFinal }
  const [before, now] = [weights[state.strength], weights[strength]]
  if (state.place === place) return now > before ? { ...state, strength } : state
  if (before === 0 && now > 0) return { place, strength, isFinal }
  return now === 0 && before > 0 ? state : { ...state, place: undefined }
}

/** The choice that a text claims; undefined where it claims none, or cannot be told which. */
export const claimOf = (text: string, choices: Choices): Claim | undefined => {
  const tokens = tokensOf(text)
  const { endOfClause, isBoundary, isName, statement, word } = reader(tokens, choices)
  let state: State | undefined
  let isStart = true
  let isTurn = false
  let isTainted = false
  let isBehindDenial = false
  let isBehindStatement = false
  let isDeniedHere = false
  let quotes = 0
  let isQuoted = false
  let at = 0
  while (at < tokens.length) {
    let from = at
    let hasRetracted = false
    const readsLead = !isName(at)
    for (;;) {
      const before = from
      const turned = readsLead ? Words.behind(tokens, from, Words.turns) : undefined
      const retracted = readsLead ? Words.behind(tokens, from, Words.retractions) : undefined
      const isRetraction = retracted !== undefined && retracted > (turned ?? 0)
      from =
        (isRetraction ? retracted : turned) ?? (readsLead ? Words.behind(tokens, from, Words.leads) : undefined) ?? from
      if (from === before) break
      isTurn ||= turned !== undefined || isRetraction
      hasRetracted ||=
        isRetraction && (!Words.weakRetractions.has(word(before)) || from > before + 1 || isBoundary(from))
      // "Not A" denies, and "no other option" says nothing.
      if (isRetraction && !hasRetracted) {
        from = before
        break
      }
    }
    if (hasRetracted) state = undefined
    const isLead = from > at && isBoundary(from)
    const isDenied = word(from) === "not" || word(from) === "neither"
    // "Not A but B" names one, "anything but A" and "all but A are right" the others.
    const isBut = word(at) === "but"
    const mayBeJudged: boolean = !isBut || isBehindStatement || isBoundary(at - 1)
    const mayStandAlone: boolean = !isDeniedHere && (isStart || (isTurn && (!isBut || isBehindDenial)))
    const found: Statement | undefined =
      isLead || isDenied ? undefined : statement(from, { mayBeJudged, mayStandAlone })
    const isForeign = quotes % 2 === 1 && !isQuoted
    if (found !== undefined && !isForeign && (!isTainted || isTurn)) {
      if (found._tag === "claim") state = weighed(state, found, isTurn)
      else if (found._tag === "denial") state = found.places.includes(state?.place ?? -1) ? undefined : state
      else state = undefined
    }
    const clause = found?.next ?? from
    const end = endOfClause(from, clause, isDenied)
    isBehindDenial = isDenied || found?._tag === "denial"
    isBehindStatement = isDenied || isLead || found !== undefined
    if (
      found === undefined &&
      !isLead &&
      !Words.subordinators.has(word(from)) &&
      !Words.relatives.has(word(from)) &&
      !isDenied
    ) {
      isTainted ||= tokens.slice(from, end).some(Words.depends) || isHeading(tokens, from, end)
    }
    const inside = tokens.slice(at, end)
    const last = inside.at(-1)?.word ?? ""
    if (isStart) isQuoted = inside[0]?.word === '"'
    quotes += inside.filter((token) => token.word === '"').length
    // "Which is not a capital? A.", "Wrong: A", "No answer. A"
    const isFragment: boolean = found === undefined && !isLead && !isDenied && end - at <= 3
    const isTaken: boolean = last === ":" && (hasRetracted || found?._tag === "retraction")
    isDeniedHere = isTaken || ((last === "?" || (last === "." && isFragment)) && inside.some(Words.denies))
    isTainted ||= isTaken && found !== undefined
    isStart = sentenceEnd.test(last) || (isStart && isLead)
    isTurn = isTurn && isLead && last !== "\n"
    if (sentenceEnd.test(last)) {
      isTainted = false
      quotes = 0
    }
    at = end
  }
  return state?.place === undefined ? undefined : { place: state.place, strength: state.strength }
}

/** "Myth: …": a few words and a colon, that say what the statement behind them is. */
const isHeading = (tokens: ReadonlyArray<Token>, from: number, end: number): boolean =>
  tokens[end - 1]?.word === ":" &&
  end - from <= 4 &&
  !tokens.slice(from, end).some(({ text, word }) => plainHeadings.test(word) || /^[A-Z]$/.test(text))

const plainHeadings =
  /^(?:answer|note|conclusion|result|summary|solution|reasoning|explanation|analysis|step|here|verdict|\d+)$/
