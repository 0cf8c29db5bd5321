/**
 * Builds a tree of shared prefixes from sequences. Pure. A span ends where its sequences diverge, or where one of them
 * ends. Positions count from 0.
 */

export type Units = ArrayLike<number | string>

export interface Beginning {
  /** The span is [from, to). */
  readonly from: number
  readonly to: number
  /** Indices of the sequences that share it. */
  readonly members: ReadonlyArray<number>
  /** Those of them that end with it. */
  readonly ending: ReadonlyArray<number>
  /** Continuations of the others, most common first. */
  readonly next: ReadonlyArray<Beginning>
}

/** Length of the common prefix from `from` on: the first position that differs, or the end of the shorter one. */
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

/** The tree of sequences with the same first unit; they agree up to `from`. */
const stretch = (sequences: ReadonlyArray<Units>, members: ReadonlyArray<number>, from: number): Beginning => {
  const first = sequences[members[0]!]!
  let to = first.length
  for (const member of members.slice(1)) to = Math.min(to, firstDifference(first, sequences[member]!, from))
  const { ending, parts } = byWhatComes(sequences, members, to)
  return { from, to, members, ending, next: parts.map((part) => stretch(sequences, part, to)) }
}

/** One tree for each first unit; empty sequences are in none. */
export const of = (
  sequences: ReadonlyArray<Units>,
  members: ReadonlyArray<number> = sequences.map((_, at) => at)
): ReadonlyArray<Beginning> => byWhatComes(sequences, members, 0).parts.map((part) => stretch(sequences, part, 0))
