/**
 * Provides the tokens of a rollout with all values of each: text, mask, logprobs, advantage. Values are looked up on
 * demand: a sequence may have a hundred thousand tokens.
 */
import type { Rollout } from "../model/Group.ts"
import type { Pieces } from "../../source/Wire.ts"

export interface Candidate {
  readonly id: number
  readonly text: string | null
  readonly logprob: number
}

export interface Token {
  readonly index: number
  readonly id: number
  /** Null if the text of this id is unknown. */
  readonly text: string | null
  readonly isTrained: boolean
  /** Nats; null if the token was not sampled. */
  readonly logprob: number | null
  readonly refLogprob: number | null
  /** Nats under the trainer's weights before the update; null if not recorded. */
  readonly trainerLogprob: number | null
  /** Trainer - sampler, nats; null if either is unknown. */
  readonly difference: number | null
  readonly advantage: number | null
  /** The teacher's candidates, likeliest first. */
  readonly candidates: ReadonlyArray<Candidate>
}

export interface TokenModel {
  readonly length: number
  readonly token: (index: number) => Token
  readonly trained: number
  /** Mean logprob of the trained tokens that were sampled. */
  readonly meanLogprob: number | null
  readonly hasLogprobs: boolean
  readonly hasReference: boolean
  /** The largest absolute difference of trainer and sampler, nats; null if none was recorded. */
  readonly largestDifference: number | null
  readonly hasTokenAdvantages: boolean
  /** The largest absolute advantage of any token. */
  readonly maxAdvantage: number
}

/** Logprobs use 1 for "not sampled"; rounding may put real ones slightly above 0. */
const unknownAbove = 0.5

export const make = (rollout: Rollout, pieces: Pieces): TokenModel => {
  const { advantage, advantages, logprobs, refLogprobs, teacher, tokens } = rollout
  const isTrained = trainedOf(rollout)
  const logprobAt = (index: number) => known(logprobs?.[index])
  const compared = comparedOf(rollout, logprobAt)
  const token = (index: number): Token => {
    const id = tokens[index] ?? 0
    const candidates = (teacher?.ids[index] ?? []).map((id, place): Candidate => {
      const logprob = teacher?.logprobs[index]?.[place] ?? Number.NEGATIVE_INFINITY
      return { id, text: pieces[id] ?? null, logprob }
    })
    return {
      index,
      id,
      text: pieces[id] ?? null,
      isTrained: isTrained(index),
      logprob: logprobAt(index),
      refLogprob: known(refLogprobs?.[index]),
      ...compared(index),
      advantage: advantages?.[index] ?? (isTrained(index) ? advantage : null),
      candidates: candidates.sort((a, b) => b.logprob - a.logprob)
    }
  }
  let trained = 0
  let sampled = 0
  let sum = 0
  let largestDifference: number | null = null
  for (let index = 0; index < tokens.length; index++) {
    if (!isTrained(index)) continue
    trained++
    const logprob = logprobAt(index)
    if (logprob === null) continue
    const { difference } = compared(index)
    if (difference !== null) largestDifference = Math.max(largestDifference ?? 0, Math.abs(difference))
    sampled++
    sum += logprob
  }
  return {
    length: tokens.length,
    token,
    trained,
    meanLogprob: sampled === 0 ? null : sum / sampled,
    hasLogprobs: logprobs?.some((value) => value <= unknownAbove) ?? false,
    hasReference: refLogprobs?.some((value) => value <= unknownAbove) ?? false,
    largestDifference,
    hasTokenAdvantages: advantages !== null && advantages.length > 0,
    maxAdvantage: (advantages ?? [advantage ?? 0]).reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  }
}

const known = (logprob: number | undefined): number | null =>
  logprob === undefined || logprob > unknownAbove ? null : logprob

/** Nats; differences from here on mean "not recorded". */
const unrecordedFrom = 500

type Compared = Pick<Token, "trainerLogprob" | "difference">

const comparedOf = (
  { trained }: Rollout,
  logprobAt: (index: number) => number | null
): ((index: number) => Compared) => {
  if (trained === null) return () => ({ trainerLogprob: null, difference: null })
  const { differences, logprobs } = trained
  return (index) => {
    const sampled = logprobAt(index)
    if (differences === null) {
      const trainerLogprob = known(logprobs?.[index])
      return {
        trainerLogprob,
        difference: trainerLogprob === null || sampled === null ? null : trainerLogprob - sampled
      }
    }
    const difference = differences[index] ?? unrecordedFrom
    return difference >= unrecordedFrom || sampled === null
      ? { trainerLogprob: null, difference: null }
      : { trainerLogprob: sampled + difference, difference }
  }
}

/**
 * A mask has the token if trained and -100 otherwise; a mask of zeros and ones that differs from the tokens is used as
 * is, as in the trainer.
 */
const trainedOf = ({ mask, tokens }: Pick<Rollout, "mask" | "tokens">): ((index: number) => boolean) => {
  const isBinary =
    mask.every((label) => label === 0 || label === 1) && mask.some((label, index) => label !== tokens[index])
  const untrained = isBinary ? 0 : -100
  return (index) => index < mask.length && mask[index] !== untrained
}

/** The length of the answers of a sequence: its trained tokens; 0 without a mask. */
export const countTrained = ({ mask, tokens }: Pick<Rollout, "mask" | "tokens">): number => {
  const isTrained = trainedOf({ mask, tokens })
  return mask.reduce((sum, _, index) => sum + (isTrained(index) ? 1 : 0), 0)
}

/** The first trained token; 0 if none. */
export const firstTrained = ({ length, token }: TokenModel): number => {
  for (let index = 0; index < length; index++) if (token(index).isTrained) return index
  return 0
}

/** Nats: a token sampled with a probability below 1 in 20. */
const surprising = Math.log(1 / 20)

/** The next matching trained token after `from` (before it if `by` is -1); undefined if none. */
export const next = (
  { length, token }: TokenModel,
  from: number,
  by: 1 | -1,
  isWanted: (token: Token) => boolean
): number | undefined => {
  for (let index = from + by; index >= 0 && index < length; index += by) {
    const found = token(index)
    if (found.isTrained && isWanted(found)) return index
  }
  return undefined
}

export const isSurprise = ({ logprob }: Token): boolean => logprob !== null && logprob < surprising

/**
 * The difference of trainer and sampler with the strongest colour, nats: the rollout's largest, at least the effect of
 * bf16, at most 2.
 */
export const differenceScale = ({ largestDifference }: TokenModel): number =>
  Math.min(2, Math.max(0.05, largestDifference ?? 0))

/** True if trainer and sampler differ by at least half of that. */
export const isDisputed = (model: TokenModel): ((token: Token) => boolean) => {
  const max = differenceScale(model) / 2
  return ({ difference }) => difference !== null && Math.abs(difference) >= max
}

/** Consecutive tokens that are all trained or all not, as text; `unknown` if the text of none of them is known. */
export interface Run {
  readonly isTrained: boolean
  readonly text: string
  readonly unknown: boolean
}

export const runsOf = (rollout: Rollout, pieces: Pieces): ReadonlyArray<Run> => {
  const isTrained = trainedOf(rollout)
  const runs: Array<{ isTrained: boolean; texts: Array<string>; unknown: boolean }> = []
  rollout.tokens.forEach((id, index) => {
    let run = runs.at(-1)
    if (run === undefined || run.isTrained !== isTrained(index)) {
      run = { isTrained: isTrained(index), texts: [], unknown: true }
      runs.push(run)
    }
    const text = pieces[id]
    run.texts.push(text ?? `⟨${id}⟩`)
    if (text !== undefined) run.unknown = false
  })
  return runs.map(({ isTrained, texts, unknown }) => ({ isTrained, text: texts.join(""), unknown }))
}

/** Makes all characters visible: `↵`, `⇥`, and code points that print nothing or change text direction. */
export const visible = (text: string): string =>
  text === ""
    ? "∅"
    : text
        .replaceAll("\n", "↵")
        .replaceAll("\r", "␍")
        .replaceAll("\t", "⇥")
        .replaceAll(
          /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
          (char) => `⟨${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`
        )

/** Label of a token: its visible text, truncated if very long; `#id` without text. */
export const label = ({ id, text }: Pick<Token, "id" | "text">): string => {
  if (text === null) return `#${id}`
  const displayed = visible(text)
  return displayed.length > 48 ? `${displayed.slice(0, 47)}…` : displayed
}
