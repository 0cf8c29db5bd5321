/**
 * Builds pairs of sequences within groups, for objectives that compare a better answer with a worse one.
 *
 * Each group gives at most one pair: the first sequence with the highest score and the first with the lowest. Sequences
 * without trained tokens are ignored; groups with equal scores, or fewer than two such sequences, give none.
 */
import { ScoreAdvantage } from "@atropos/core"

/** Index of the paired sequence in the batch, and 1 if this one is better, else -1. */
export interface Pair {
  readonly partner: number
  readonly preference: 1 | -1
}

interface Candidate {
  /** (T) 1 where trained, else 0. */
  readonly mask: Uint8Array
  readonly score: number
}

const firstWith = <S extends Candidate>(sequences: ReadonlyArray<S>, isBetter: (a: number, b: number) => boolean): S =>
  sequences.reduce((best, sequence) => (isBetter(sequence.score, best.score) ? sequence : best))

const pairOf = <S extends Candidate>(group: ReadonlyArray<S>): ReadonlyArray<S> => {
  const trained = group.filter(({ mask }) => mask.subarray(1).includes(1))
  if (trained.length < 2 || ScoreAdvantage.areEqual(trained.map(({ score }) => score))) return []
  return [firstWith(trained, (a, b) => a > b), firstWith(trained, (a, b) => a < b)]
}

/** Sequences of all pairs, the better one first; each holds its partner's index among them. */
export const ofGroups = <S extends Candidate>(
  groups: ReadonlyArray<ReadonlyArray<S>>
): ReadonlyArray<S & { readonly pair: Pair }> =>
  groups.flatMap(pairOf).map((sequence, index) => ({
    ...sequence,
    pair: index % 2 === 0 ? { partner: index + 1, preference: 1 } : { partner: index - 1, preference: -1 }
  }))
