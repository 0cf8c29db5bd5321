/**
 * Pairs of sequences of one group, for objectives that compare a better answer with a worse one.
 *
 * A group gives one pair: the first of its sequences with the highest score and the first with the lowest. Sequences
 * without trained tokens are not looked at; a group of equal scores, or with fewer than two such sequences, gives none.
 */
import { ScoreAdvantage } from "@atropos/core"
import type { TrainingSequence } from "./TrainingSequence.ts"

const firstWith = (
  sequences: ReadonlyArray<TrainingSequence>,
  isBetter: (a: number, b: number) => boolean
): TrainingSequence => sequences.reduce((best, sequence) => (isBetter(sequence.score, best.score) ? sequence : best))

const pairOf = (group: ReadonlyArray<TrainingSequence>): ReadonlyArray<TrainingSequence> => {
  const trained = group.filter(({ mask }) => mask.subarray(1).includes(1))
  if (trained.length < 2 || ScoreAdvantage.areEqual(trained.map(({ score }) => score))) return []
  return [firstWith(trained, (a, b) => a > b), firstWith(trained, (a, b) => a < b)]
}

/** The sequences of the groups' pairs, the better one first; each knows the other's index among them. */
export const ofGroups = (groups: ReadonlyArray<ReadonlyArray<TrainingSequence>>): ReadonlyArray<TrainingSequence> =>
  groups.flatMap(pairOf).map((sequence, index) => ({
    ...sequence,
    pair: index % 2 === 0 ? { partner: index + 1, preference: 1 } : { partner: index - 1, preference: -1 }
  }))
