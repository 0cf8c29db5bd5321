/** Rollouts of a group that sampled the same tokens: a grader that judges the answer gives them the same score. */
import type { ScoredGroup } from "../../ScoredGroup.ts"

export interface Equals {
  /** Rollouts whose sequence another one of the group has too. */
  readonly equal: number
  /** Those of them whose equals have another score. */
  readonly contradicting: number
}

const keyOf = (tokens: Int32Array): string =>
  Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString("latin1")

/** Of one group. */
export const count = ({ scores, tokens }: Pick<ScoredGroup, "scores" | "tokens">): Equals => {
  const known = new Map<string, Array<number>>()
  for (const [index, sequence] of tokens.entries()) {
    const key = keyOf(sequence)
    const same = known.get(key)
    if (same === undefined) known.set(key, [scores[index]!])
    else same.push(scores[index]!)
  }
  let [equal, contradicting] = [0, 0]
  for (const same of known.values()) {
    if (same.length < 2) continue
    equal += same.length
    if (same.some((score) => score !== same[0])) contradicting += same.length
  }
  return { equal, contradicting }
}
