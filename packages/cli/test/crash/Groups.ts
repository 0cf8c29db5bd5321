/** Numbered groups: the first token of each tells which one it is. */
import { type EnvironmentClient, type ScoredGroup, Trajectory } from "@atropos/core"
import { randomUUID } from "node:crypto"

/** Sequences of every group. */
export const size = 4

/** Group number `id`. */
export const numbered = (id: number): ScoredGroup.ScoredGroup => {
  const tokens = Array.from({ length: size }, (_, row) => Int32Array.of(id, 1, 2, row, 4, 5, 6, 7))
  return {
    tokens,
    masks: tokens.map(({ length }) => Trajectory.maskFrom(2, length)),
    scores: Float64Array.from({ length: size }, (_, row) => row)
  }
}

/** The number of a group. */
export const numberOf = ({ tokens }: ScoredGroup.ScoredGroup): number => tokens[0]![0]!

/** With a key of its own. */
export const keyed = (id: number): EnvironmentClient.KeyedGroup => ({ key: randomUUID(), group: numbered(id) })
