/**
 * Determines which choice of a question a text claims to be the answer.
 *
 * A clause that `ChoiceStatement` cannot parse is ignored; so is a clause in a question, under a condition, attributed
 * to another speaker or next to a denial that cannot be parsed. Statements are then weighed in order: retracted or
 * denied ones are dropped, several simultaneous ones cancel, and of two contradicting ones the later counts only if it
 * concludes or corrects.
 */
import { clausesOf, sentenceEnd } from "./ChoiceClause.ts"
import type { Assertion, Claim, Statement, Strength } from "./ChoiceAssertion.ts"
import { namesOf } from "./ChoiceNames.ts"
import * as ChoiceTongues from "./ChoiceTongues.ts"
import { statementsOf } from "./ChoiceStatement.ts"
import { type Choices, type Token, tokensOf } from "./ChoiceTokens.ts"
import * as Words from "./ChoiceWords.ts"

export type { Claim, Strength } from "./ChoiceAssertion.ts"

const weights: { readonly [strength in Strength]: number } = { alone: 0, stated: 1, announced: 2 }
/** The current state: the claim so far; no place if claims contradict each other. */
interface State {
  readonly place: number | undefined
  readonly strength: Strength
  readonly isFinal: boolean
}

const weighed = (state: State | undefined, claim: Assertion, isTurn: boolean): State => {
  const { isFinal, place } = claim
  const strength = claim.strength === "alone" && isTurn ? "stated" : claim.strength
  if (state === undefined) return { place, strength: claim.strength, isFinal }
  const [before, now] = [weights[state.strength], weights[strength]]
  if ((isTurn && now >= before) || (isFinal && !state.isFinal)) return { place, strength: claim.strength, isFinal }
  if (state.place === place) return now > before ? { ...state, strength } : state
  if (before === 0 && now > 0) return { place, strength, isFinal }
  return now === 0 && before > 0 ? state : { ...state, place: undefined }
}

const fewShot =
  /^([ \t*_]{0,4})A[ \t]{0,2}[:：](?=[ \t*_]{0,4}["'([]?([B-Z]|\d{1,2})["')\]]?[.*_ \t]{0,4}$(?!\s{1,4}[*_]{0,2}B[:.)]))/gm
/** Spells out "A: B" on its own line: the answer's mark in few-shot prompts, not choice A. */
const withAnswer = (text: string, { labels }: Choices): string =>
  text.replaceAll(fewShot, (found, before: string, label: string) =>
    labels.includes(label) ? `${before}Answer:` : found
  )

/** Judge the choice that their line is about, after a dash or colon. */
const verdicts: ReadonlySet<string> = new Set(["no", "nope", "wrong", "incorrect", "false"])

/** The choice that a text claims; undefined if none or it is ambiguous. */
export const claimOf = (text: string, choices: Choices): Claim | undefined => {
  const tokens = tokensOf(ChoiceTongues.inEnglish(withAnswer(text, choices), choices.written))
  const names = namesOf(tokens, choices)
  const clauses = clausesOf(tokens, choices, names)
  const { word } = names
  const { endOfClause, isBoundary, isName } = clauses
  const statement = statementsOf(tokens, choices, names, clauses)
  let state: State | undefined
  let isStart = true
  let isTurn = false
  let isTainted = false
  let isBehindDenial = false
  let isBehindStatement = false
  let isDeniedHere = false
  let quotes = 0
  let isQuoted = false
  /** The choice that the current sentence is about. */
  let subject: ReadonlyArray<number> | undefined
  let at = 0
  while (at < tokens.length) {
    let from = at
    if (isStart) subject = names.nameAt(at)?.places
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
      // "Not A" denies; "no other option" does not.
      if (isRetraction && !hasRetracted) {
        from = before
        break
      }
    }
    // "D is close, but not quite", "(D) Oslo – no"
    const isVerdict: boolean = !isStart && verdicts.has(word(at)) && word(at + 1) !== "," && isBoundary(at + 1)
    const isOfOther: boolean = (word(at) === "but" || isVerdict) && subject?.includes(state?.place ?? -1) === false
    if (hasRetracted && !isOfOther) state = undefined
    const isLead = from > at && isBoundary(from)
    const isDenied = word(from) === "not" || word(from) === "neither"
    // "Not A but B" names one, "anything but A" and "all but A are right" the others.
    const isBut = word(at) === "but"
    const mayBeJudged: boolean = !isBut || isBehindStatement || isBoundary(at - 1)
    const mayStandAlone: boolean = !isDeniedHere && (isStart || (isTurn && (!isBut || isBehindDenial)))
    const said: Statement | undefined = isLead || isDenied ? undefined : statement(from, { mayBeJudged, mayStandAlone })
    const isForeign = quotes % 2 === 1 && !isQuoted
    if (said !== undefined && !isForeign && (!isTainted || isTurn)) {
      if (said._tag === "claim") state = weighed(state, said, isTurn)
      else if (said._tag === "denial") state = said.places.includes(state?.place ?? -1) ? undefined : state
      else state = undefined
    }
    const clause = said?.next ?? from
    const end = endOfClause(from, clause, isDenied)
    isBehindDenial = isDenied || said?._tag === "denial"
    isBehindStatement = isDenied || isLead || said !== undefined
    if (
      said === undefined &&
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
    const isFragment: boolean = said === undefined && !isLead && !isDenied && end - at <= 3
    const isTaken: boolean = last === ":" && (hasRetracted || said?._tag === "retraction")
    isDeniedHere = isTaken || ((last === "?" || (last === "." && isFragment)) && inside.some(Words.denies))
    isTainted ||= isTaken && said !== undefined
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

/** "Myth: …": a few words and a colon that characterize the following statement. */
const isHeading = (tokens: ReadonlyArray<Token>, from: number, end: number): boolean =>
  tokens[end - 1]?.word === ":" &&
  end - from <= 4 &&
  !tokens.slice(from, end).some(({ text, word }) => plainHeadings.test(word) || /^[A-Z]$/.test(text))

const plainHeadings =
  /^(?:answer|note|conclusion|result|summary|solution|reasoning|explanation|analysis|step|here|verdict|\d+)$/
