/**
 * Applies a limit on the age of the weights that sampled a sequence.
 *
 * Staleness = policy version at use - policy version at sampling, in weight updates; 0 is on-policy. A version ahead of
 * the trainer's (it returned to a checkpoint) counts as 0. Sequences of unknown version are counted separately; with a
 * limit they are stale from the first update on.
 *
 * - drop: removes the sequence from its group before advantages are computed. A group is dropped when it becomes empty,
 *   or if only one sequence remains and needs others for comparison: a raw score is no advantage.
 * - mask: keeps the sequence in the group's baseline but does not train on it (its mask is 0 throughout). If the
 *   weights changed while it was sampled (`VersionRuns`), only its stale tokens are masked.
 *
 * A sequence is as old as its oldest token.
 */
import { ScoredGroup, VersionRuns } from "@atropos/core"

export interface Rule {
  /** Max staleness to train on; null: unlimited. */
  readonly maxStaleness: number | null
  readonly action: "drop" | "mask"
  /**
   * True if a single sequence can be trained on without its group: scores are not compared. Groups with their own
   * advantages always can. Default false.
   */
  readonly isAbsolute?: boolean
  /** True if unknown versions count as stale. Default true; use false for examples that no policy sampled. */
  readonly isUnknownStale?: boolean
}

/** Counts are in sequences. */
export interface Figures {
  /** Over sequences of known version, before the rule; 0 if none. */
  readonly mean: number
  readonly max: number
  readonly unknown: number
  readonly dropped: number
  /** Wholly or in part. */
  readonly masked: number
}

const only = <A>(values: ReadonlyArray<A>, kept: ReadonlyArray<number>): ReadonlyArray<A> =>
  kept.map((index) => values[index]!)

/** Restricts a group to these sequences, in this order. */
export const select = (group: ScoredGroup.ScoredGroup, kept: ReadonlyArray<number>): ScoredGroup.ScoredGroup => {
  const {
    advantages,
    distillLogprobs,
    distillTokenIds,
    images,
    inferenceLogprobs,
    messages,
    overrides,
    policyVersions,
    routedExperts,
    solved,
    timings,
    versionRuns,
    keptTokens
  } = group
  const size = ScoredGroup.size(group)
  return {
    ...group,
    tokens: only(group.tokens, kept),
    masks: only(group.masks, kept),
    scores: Float64Array.from(kept, (index) => group.scores[index]!),
    ...(advantages && { advantages: only(advantages, kept) }),
    ...(group.refLogprobs && { refLogprobs: only(group.refLogprobs, kept) }),
    ...(inferenceLogprobs && { inferenceLogprobs: only(inferenceLogprobs, kept) }),
    ...(messages && { messages: only(messages, kept) }),
    ...(overrides && { overrides: only(overrides, kept) }),
    ...(distillTokenIds && { distillTokenIds: only(distillTokenIds, kept) }),
    ...(distillLogprobs && { distillLogprobs: only(distillLogprobs, kept) }),
    ...(policyVersions && { policyVersions: only(policyVersions, kept) }),
    ...(versionRuns && { versionRuns: only(versionRuns, kept) }),
    ...(keptTokens && { keptTokens: only(keptTokens, kept) }),
    ...(solved && { solved: only(solved, kept) }),
    ...(timings && { timings: only(timings, kept) }),
    ...(routedExperts && { routedExperts: only(routedExperts, kept) }),
    ...(Array.isArray(images) && images.length === size && { images: only<unknown>(images, kept) })
  }
}

const runsOf = ({ versionRuns }: ScoredGroup.ScoredGroup, index: number): Int32Array =>
  versionRuns?.[index] ?? new Int32Array()

export const apply = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  version: number,
  { action, isAbsolute = false, isUnknownStale = true, maxStaleness }: Rule
): { readonly groups: ReadonlyArray<ScoredGroup.ScoredGroup>; readonly figures: Figures } => {
  const limit = maxStaleness ?? Number.POSITIVE_INFINITY
  const isUsable = (sampled: number | undefined): boolean =>
    sampled === undefined ? maxStaleness === null || version === 0 || !isUnknownStale : version - sampled <= limit
  let [sum, known, max, unknown, stale] = [0, 0, 0, 0, 0]
  const kept = groups.flatMap((group) => {
    const size = ScoredGroup.size(group)
    const isFresh = Array.from({ length: size }, (_, index) => {
      const sampled = group.policyVersions?.[index] ?? undefined
      if (sampled === undefined) unknown++
      else {
        const staleness = Math.max(0, version - sampled)
        sum += staleness
        known++
        max = Math.max(max, staleness)
      }
      return isUsable(sampled) && VersionRuns.versions(runsOf(group, index)).every(isUsable)
    })
    const fresh = isFresh.flatMap((is, index) => (is ? [index] : []))
    if (fresh.length === size) return [group]
    const isLone = fresh.length === 1 && !isAbsolute && group.advantages === undefined
    const left = action === "drop" && isLone ? [] : fresh
    stale += size - left.length
    if (action === "drop") return left.length === 0 ? [] : [select(group, left)]
    const masks = group.masks.map((mask, index) => {
      if (isFresh[index]) return mask
      const runs = runsOf(group, index)
      return runs.length > 0 ? VersionRuns.restrict(mask, runs, isUsable) : new Uint8Array(mask.length)
    })
    return [{ ...group, masks }]
  })
  const [dropped, masked] = action === "drop" ? [stale, 0] : [0, stale]
  return { groups: kept, figures: { mean: known === 0 ? 0 : sum / known, max, unknown, dropped, masked } }
}
