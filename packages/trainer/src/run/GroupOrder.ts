/**
 * One order for the groups of a batch, whatever order they came in: that of their numbers.
 *
 * Queues hand groups on in the order in which rollouts ended. Packing, and the sums of floating-point numbers after it,
 * would make other bits of every order. Groups that compare as equal are the same to the trainer.
 */
import { type ScoredGroup, Trajectory } from "@atropos/core"

type Numbers = ArrayLike<number>

/** What is not a number first: it is left out later, but has to stand somewhere. */
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

/** Lists by their members; an absent one is an empty one. */
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

/** Tokens that were not sampled come after those that were. */
const place = (logprob: number): number => (Trajectory.isSampled(logprob) ? logprob : 1)
const logprobs = byRows((a: Float32Array, b: Float32Array) => byNumbers(a.map(place), b.map(place)))

/** Unknown versions first. */
const versionsOf = ({ policyVersions = [] }: ScoredGroup.ScoredGroup): ReadonlyArray<number> =>
  policyVersions.map((version) => version ?? -1)

/** Texts by their UTF-16 units: `localeCompare` depends on the machine. */
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
  byText(switchesOf(a), switchesOf(b))

/** The same groups in the order of their tokens, then of all else that training depends on. */
export const canonical = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>): ReadonlyArray<ScoredGroup.ScoredGroup> =>
  groups.toSorted(byContent)
