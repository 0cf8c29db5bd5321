/** Rollouts of a group that sampled the same tokens: a grader that judges the answer gives them the same score. */
import type { ScoredGroup } from "../../ScoredGroup.ts"

/** Rollouts of one answer: how many, and how far apart their scores are. */
export interface Equals {
  readonly rollouts: number
  readonly spread: number
}

const keyOf = (tokens: Int32Array): string =>
  Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString("latin1")

/** Those answers of a group that were given more than once. */
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

const sum = (some: ReadonlyArray<Equals>): number => some.reduce((total, { rollouts }) => total + rollouts, 0)

/** A judge that is a model gives the same answer a little more or less: that is no contradiction. */
const far = 0.5

/** The share of equal rollouts whose scores are apart by half of `range` or more; undefined without any. */
export const contradicting = (all: ReadonlyArray<Equals>, range: number): number | undefined => {
  const equal = sum(all)
  return equal === 0 ? undefined : sum(all.filter(({ spread }) => spread > 0 && spread >= far * range)) / equal
}
