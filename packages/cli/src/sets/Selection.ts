/**
 * Selects the sequences of a group that become rows: the best ones (SFT), or pairs of a better and a worse one (DPO).
 *
 * The rules are the original's. SFT: descending by score, above 0 (unless negative scores are allowed), above the
 * group's lowest by more than the minimum difference (if that is above 0), the first n. DPO: each of the n best (above
 * 0, unless allowed) is paired with one of the n worst, not yet used and scoring lower by more than the minimum
 * difference, drawn at random. A sequence may be the worse one of one pair and the better one of another. Ties keep the
 * group's order.
 *
 * Unlike there, sequences that cannot become a row (a duplicate, a different prompt) do not count towards n.
 */
import { Result } from "effect"

/** Why a candidate gives no row, in addition to the row maker's own reasons. */
export type Reason = "score_not_positive" | "spread_too_small" | "beyond_top_n" | "beyond_n_pairs" | "no_worse_sequence"

export interface Candidate {
  readonly index: number
  readonly score: number
}

/** The rows made, and the drop reason of each sequence without one. */
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
  /** The lowest score among all sequences of the group. */
  readonly lowest: number
  readonly max: number
  readonly make: (candidate: C) => Result.Result<A, R>
}

export const best = <C extends Candidate, A, R>(
  candidates: ReadonlyArray<C>,
  { allowNegativeScores, lowest, make, minimumDifference, max }: BestOptions<C, A, R>
): Selected<A, R> => {
  const made: Array<A> = []
  const dropped: Array<R | Reason> = []
  for (const candidate of descending(candidates)) {
    const { score } = candidate
    if (!allowNegativeScores && !(score > 0)) dropped.push("score_not_positive")
    else if (minimumDifference > 0 && !(score - lowest > minimumDifference)) dropped.push("spread_too_small")
    else if (made.length >= max) dropped.push("beyond_top_n")
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
  readonly max: number
  /** Returns a number in [0, count) for the pair with this index. */
  readonly choose: (pair: number, count: number) => number
  readonly make: (selected: C, rejected: C) => Result.Result<A, R>
}

/** Pairs of a group, the best sequence first; `dropped` covers the sequences that could have been the better one. */
export const pairs = <C extends Candidate, A, R>(
  candidates: ReadonlyArray<C>,
  { allowNegativeScores, choose, make, minimumDifference, max }: PairOptions<C, A, R>
): Selected<A, R> => {
  const made: Array<A> = []
  const dropped: Array<R | Reason> = []
  const worse = ascending(candidates).slice(0, max)
  for (const [place, selected] of descending(candidates).entries()) {
    if (!allowNegativeScores && !(selected.score > 0)) dropped.push("score_not_positive")
    else if (place >= max) dropped.push("beyond_n_pairs")
    else {
      const lower = worse.filter(({ score }) => score < selected.score - minimumDifference)
      const results = lower.map((rejected) => ({ rejected, result: make(selected, rejected) }))
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
