/** Finds rollouts of a group with the same tokens: a grader that judges the answer should give them the same score. */
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"

/** Rollouts with the same answer: their number, and the range of their scores. */
export interface Equals {
  readonly rollouts: number
  readonly spread: number
}

const keyOf = (tokens: Int32Array): string =>
  Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString("latin1")

/** Answers that occur more than once in a group. */
export const find = ({ scores, tokens }: Pick<ScoredGroup, "scores" | "tokens">): ReadonlyArray<Equals> => {
  const known = new Map<string, Array<number>>()
  for (const [index, sequence] of tokens.entries()) {
    const key = keyOf(sequence)
    const same = known.get(key)
    if (same === undefined) known.set(key, [scores[index]!])
    else same.push(scores[index]!)
  }
  return Array.from(known.values())
    .filter(({ length }) => length > 1)
    .map((same) => ({ rollouts: same.length, spread: Math.max(...same) - Math.min(...same) }))
}

const rolloutsOf = (answers: ReadonlyArray<Equals>): number =>
  answers.reduce((total, { rollouts }) => total + rollouts, 0)

/** A model as judge varies slightly on the same answer: that is not a contradiction. */
const minSpreadShare = 0.5

/** The share of equal rollouts whose scores differ by half of `range` or more; undefined if none. */
export const contradicting = (all: ReadonlyArray<Equals>, range: number): number | undefined => {
  const equal = rolloutsOf(all)
  return equal === 0
    ? undefined
    : rolloutsOf(all.filter(({ spread }) => spread > 0 && spread >= minSpreadShare * range)) / equal
}
