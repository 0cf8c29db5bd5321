/**
 * Which sequences of a group become rows: the best ones (SFT), or pairs of a better and a worse one (DPO).
 *
 * The rules are the original's. SFT: descending by score, above 0 (unless negative scores are allowed), above the
 * group's lowest by more than the minimum difference (where that is above 0), the first n. DPO: each of the n best
 * (above 0, unless allowed) gets one of the n worst that is not yet taken and scores lower by more than the minimum
 * difference, drawn at random. A sequence may be the worse one of a pair and the better one of another. Equal scores
 * keep the group's order.
 *
 * Unlike there, what cannot become a row (a duplicate, another prompt) takes no place among the n.
 */
import { Result } from "effect"

/** Why a sequence that could be a row is none; beside these the reasons of whoever makes the row. */
export type Reason = "score_not_positive" | "spread_too_small" | "beyond_top_n" | "beyond_n_pairs" | "no_worse_sequence"

/** A sequence of a group. */
export interface Candidate {
  /** Its place in the group. */
  readonly index: number
  readonly score: number
}

/** What was made, and how many sequences gave nothing, by reason. */
export interface Selected<A, R> {
  readonly made: ReadonlyArray<A>
  readonly dropped: ReadonlyArray<R | Reason>
}

const descending = <C extends Candidate>(candidates: ReadonlyArray<C>): ReadonlyArray<C> =>
  [...candidates].sort((a, b) => b.score - a.score)

const ascending = <C extends Candidate>(candidates: ReadonlyArray<C>): ReadonlyArray<C> =>
  [...candidates].sort((a, b) => a.score - b.score)

export interface BestOptions<C, A, R> {
  readonly allowNegativeScores: boolean
  readonly minimumDifference: number
  /** The lowest score of the group, of all its sequences. */
  readonly lowest: number
  readonly most: number
  readonly make: (candidate: C) => Result.Result<A, R>
}

/** The best sequences of a group. */
export const best = <C extends Candidate, A, R>(
  candidates: ReadonlyArray<C>,
  { allowNegativeScores, lowest, make, minimumDifference, most }: BestOptions<C, A, R>
): Selected<A, R> => {
  const made: Array<A> = []
  const dropped: Array<R | Reason> = []
  for (const candidate of descending(candidates)) {
    const { score } = candidate
    if (!allowNegativeScores && !(score > 0)) dropped.push("score_not_positive")
    else if (minimumDifference > 0 && !(score - lowest > minimumDifference)) dropped.push("spread_too_small")
    else if (made.length >= most) dropped.push("beyond_top_n")
    else {
      const result = make(candidate)
      if (Result.isSuccess(result)) made.push(result.success)
      else dropped.push(result.failure)
    }
  }
  return { made, dropped }
}

export interface PairOptions<C, A, R> {
  readonly allowNegativeScores: boolean
  readonly minimumDifference: number
  /** Pairs per group at most. */
  readonly most: number
  /** A number from 0 to below `count`, for the pair of this number. */
  readonly choose: (pair: number, count: number) => number
  readonly make: (chosen: C, rejected: C) => Result.Result<A, R>
}

/** Pairs of a group, the best sequence first; `dropped` has the sequences that could have been the better one. */
export const pairs = <C extends Candidate, A, R>(
  candidates: ReadonlyArray<C>,
  { allowNegativeScores, choose, make, minimumDifference, most }: PairOptions<C, A, R>
): Selected<A, R> => {
  const made: Array<A> = []
  const dropped: Array<R | Reason> = []
  const worse = ascending(candidates).slice(0, most)
  for (const [place, chosen] of descending(candidates).entries()) {
    if (!allowNegativeScores && !(chosen.score > 0)) dropped.push("score_not_positive")
    else if (place >= most) dropped.push("beyond_n_pairs")
    else {
      const lower = worse.filter(({ score }) => score < chosen.score - minimumDifference)
      const results = lower.map((rejected) => ({ rejected, result: make(chosen, rejected) }))
      const possible = results.flatMap(({ rejected, result }) =>
        Result.isSuccess(result) ? [{ rejected, pair: result.success }] : []
      )
      const drawn = possible[choose(place, possible.length)]
      if (drawn !== undefined) {
        made.push(drawn.pair)
        worse.splice(worse.indexOf(drawn.rejected), 1)
        continue
      }
      const [first] = results
      dropped.push(first !== undefined && Result.isFailure(first.result) ? first.result.failure : "no_worse_sequence")
    }
  }
  return { made, dropped }
}
