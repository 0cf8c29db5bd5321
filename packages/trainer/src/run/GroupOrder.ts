/**
 * Sorts the groups of a batch into a canonical order, by their contents.
 *
 * Queues deliver groups in completion order, and packing and floating-point summation depend on order, so sorting keeps
 * results bit-identical. Groups that compare equal are identical to the trainer.
 */
import { type ScoredGroup, Trajectory } from "@atropos/core"

type Numbers = ArrayLike<number>

/** NaN sorts first: such sequences are excluded later but need a defined place. */
const byNumber = (a: number, b: number): number => {
  if (a < b) return -1
  if (a > b) return 1
  return Number(Number.isNaN(b)) - Number(Number.isNaN(a))
}

const byNumbers = (a: Numbers, b: Numbers): number => {
  if (a.length !== b.length) return a.length - b.length
  for (let i = 0; i < a.length; i++) {
    const order = byNumber(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return 0
}

/** Compares lists by length, then by element; an absent list equals an empty one. */
const byRows =
  <A>(compare: (a: A, b: A) => number) =>
  (a: ReadonlyArray<A> = [], b: ReadonlyArray<A> = []): number => {
    if (a.length !== b.length) return a.length - b.length
    for (const [i, row] of a.entries()) {
      const difference = compare(row, b[i]!)
      if (difference !== 0) return difference
    }
    return 0
  }

const matrices = byRows(byNumbers)
const candidates = byRows(matrices)

/** Unsampled tokens sort after sampled ones. */
const place = (logprob: number): number => (Trajectory.isSampled(logprob) ? logprob : 1)
const logprobs = byRows((a: Float32Array, b: Float32Array) => byNumbers(a.map(place), b.map(place)))

const versionsOf = ({ policyVersions = [] }: ScoredGroup.ScoredGroup): ReadonlyArray<number> =>
  policyVersions.map((version) => version ?? -1)

/** Compares UTF-16 code units, because `localeCompare` depends on the machine. */
const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const switchesOf = ({ generationParams, groupOverrides, overrides }: ScoredGroup.ScoredGroup): string =>
  JSON.stringify([overrides, generationParams, groupOverrides])

const byContent = (a: ScoredGroup.ScoredGroup, b: ScoredGroup.ScoredGroup): number =>
  matrices(a.tokens, b.tokens) ||
  matrices(a.masks, b.masks) ||
  byNumbers(a.scores, b.scores) ||
  logprobs(a.inferenceLogprobs, b.inferenceLogprobs) ||
  matrices(a.advantages, b.advantages) ||
  matrices(a.refLogprobs, b.refLogprobs) ||
  candidates(a.distillTokenIds, b.distillTokenIds) ||
  candidates(a.distillLogprobs, b.distillLogprobs) ||
  matrices(a.routedExperts, b.routedExperts) ||
  byNumbers(versionsOf(a), versionsOf(b)) ||
  matrices(a.versionRuns, b.versionRuns) ||
  candidates(a.keptTokens, b.keptTokens) ||
  byText(switchesOf(a), switchesOf(b))

/** Sorts by tokens, then by all other fields that affect training. */
export const canonical = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>): ReadonlyArray<ScoredGroup.ScoredGroup> =>
  groups.toSorted(byContent)
