/**
 * Sequences as a tree of what they begin with alike: each stretch that some share, then where they part. Pure.
 *
 * A stretch ends where its sequences go on differently, or where one of them ends. Positions count from 0.
 */

export type Units = ArrayLike<number | string>

export interface Beginning {
  /** The stretch is [from, to). */
  readonly from: number
  readonly to: number
  /** Places of the sequences that have it. */
  readonly members: ReadonlyArray<number>
  /** Those of them that end with it. */
  readonly ending: ReadonlyArray<number>
  /** How the others go on, most of them first. */
  readonly next: ReadonlyArray<Beginning>
}

/** How far two sequences are alike from `from` on: the first place that differs, or the end of the shorter. */
export const firstDifference = (left: Units, right: Units, from = 0): number => {
  const end = Math.min(left.length, right.length)
  let at = from
  while (at < end && left[at] === right[at]) at++
  return at
}

const byWhatComes = (sequences: ReadonlyArray<Units>, members: ReadonlyArray<number>, at: number) => {
  const parts = new Map<number | string, Array<number>>()
  const ending: Array<number> = []
  for (const member of members) {
    const unit = sequences[member]![at]
    if (unit === undefined) ending.push(member)
    else parts.set(unit, [...(parts.get(unit) ?? []), member])
  }
  return { ending, parts: [...parts.values()].sort((left, right) => right.length - left.length) }
}

/** All that begin with one unit, as one tree; they agree up to `from`. */
const stretch = (sequences: ReadonlyArray<Units>, members: ReadonlyArray<number>, from: number): Beginning => {
  const first = sequences[members[0]!]!
  let to = first.length
  for (const member of members.slice(1)) to = Math.min(to, firstDifference(first, sequences[member]!, from))
  const { ending, parts } = byWhatComes(sequences, members, to)
  return { from, to, members, ending, next: parts.map((part) => stretch(sequences, part, to)) }
}

/** One tree for each first unit; sequences without any are in none. */
export const of = (
  sequences: ReadonlyArray<Units>,
  members: ReadonlyArray<number> = sequences.map((_, at) => at)
): ReadonlyArray<Beginning> => byWhatComes(sequences, members, 0).parts.map((part) => stretch(sequences, part, 0))
