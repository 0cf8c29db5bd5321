/**
 * How old the weights that sampled a sequence may be, and what becomes of older ones.
 *
 * Staleness = policy version at use - policy version at sampling, in updates of the weights; 0 is on-policy. A version
 * ahead of the trainer's (it went back to a checkpoint) counts as 0. Sequences of unknown version are counted apart;
 * where there is a limit, they are too old from the first update on: nothing says that they are within it.
 *
 * - drop: the sequence leaves its group before advantages are computed, as if it had not been sampled; a group leaves
 *   the batch when it is empty then, or when its only sequence has nothing left to be compared with: a raw score is no
 *   advantage.
 * - mask: it stays in the group's baseline and is not trained on (its mask is 0 throughout).
 */
import { ScoredGroup } from "@atropos/core"

export interface Rule {
  /** Largest staleness that is trained on; null: any. */
  readonly maxStaleness: number | null
  readonly action: "drop" | "mask"
  /**
   * Whether a sequence says something without its group: no scores are compared, or it brings advantages of its own.
   * Default: those.
   */
  readonly isAbsolute?: boolean
  /** Whether an unknown version is taken for too old. Default true; of examples that no policy sampled, false. */
  readonly isUnknownStale?: boolean
}

/** Counts are sequences. */
export interface Figures {
  /** Over the sequences of known version, before the rule; 0 where there is none. */
  readonly mean: number
  readonly max: number
  /** Of unknown version. */
  readonly unknown: number
  readonly dropped: number
  readonly masked: number
}

const only = <A>(values: ReadonlyArray<A>, kept: ReadonlyArray<number>): ReadonlyArray<A> =>
  kept.map((index) => values[index]!)

/** The group with these of its sequences alone, in this order. */
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
    timings
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
    ...(solved && { solved: only(solved, kept) }),
    ...(timings && { timings: only(timings, kept) }),
    ...(routedExperts && { routedExperts: only(routedExperts, kept) }),
    ...(Array.isArray(images) && images.length === size && { images: only<unknown>(images, kept) })
  }
}

/** The groups after the rule, for weights of `version`. */
export const apply = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  version: number,
  { action, isAbsolute = false, isUnknownStale = true, maxStaleness }: Rule
): { readonly groups: ReadonlyArray<ScoredGroup.ScoredGroup>; readonly figures: Figures } => {
  const limit = maxStaleness ?? Number.POSITIVE_INFINITY
  let [sum, known, max, unknown, stale] = [0, 0, 0, 0, 0]
  const kept = groups.flatMap((group) => {
    const size = ScoredGroup.size(group)
    const isFresh = Array.from({ length: size }, (_, index) => {
      const sampled = group.policyVersions?.[index] ?? null
      if (sampled === null) {
        unknown++
        return maxStaleness === null || version === 0 || !isUnknownStale
      }
      const staleness = Math.max(0, version - sampled)
      sum += staleness
      known++
      max = Math.max(max, staleness)
      return staleness <= limit
    })
    const fresh = isFresh.flatMap((is, index) => (is ? [index] : []))
    if (fresh.length === size) return [group]
    const isLone = fresh.length === 1 && !isAbsolute && group.advantages === undefined
    const left = action === "drop" && isLone ? [] : fresh
    stale += size - left.length
    if (action === "drop") return left.length === 0 ? [] : [select(group, left)]
    const masks = group.masks.map((mask, index) => (isFresh[index] ? mask : new Uint8Array(mask.length)))
    return [{ ...group, masks }]
  })
  const [dropped, masked] = action === "drop" ? [stale, 0] : [0, stale]
  return { groups: kept, figures: { mean: known === 0 ? 0 : sum / known, max, unknown, dropped, masked } }
}
