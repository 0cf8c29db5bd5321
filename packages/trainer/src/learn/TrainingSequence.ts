/**
 * Converts scored groups to training sequences, which `MicroBatch` packs and `TrainGraph` reads.
 *
 * Arrays are aligned by position, unpadded, T entries each; entry t belongs to the prediction of token t, so entry 0 is
 * unused. Logprobs are nats of the distribution at `temperature`.
 */
import { Sampling, ScoreAdvantage, type ScoredGroup, Trajectory } from "@atropos/core"
import type { SequenceSettings } from "../loss/SequenceSettings.ts"
import * as Advantages from "./Advantages.ts"

/**
 * Builds pairs of sequences within groups, for objectives that compare a better answer with a worse one.
 *
 * Each group gives at most one pair: the first sequence with the highest score and the first with the lowest. Sequences
 * without trained tokens are ignored; groups with equal scores, or fewer than two such sequences, give none.
 * Index of the paired sequence in the batch, and 1 if this one is better, else -1.
 */
interface Pair {
  readonly partner: number
  readonly preference: 1 | -1
}

interface Candidate {
  /** (T) 1 where trained, else 0. */
  readonly mask: Uint8Array
  readonly score: number
}

const firstWith = <S extends Candidate>(sequences: ReadonlyArray<S>, isBetter: (a: number, b: number) => boolean): S =>
  sequences.reduce((best, sequence) => (isBetter(sequence.score, best.score) ? sequence : best))

const pairOf = <S extends Candidate>(group: ReadonlyArray<S>): ReadonlyArray<S> => {
  const trained = group.filter(({ mask }) => mask.subarray(1).includes(1))
  if (trained.length < 2 || ScoreAdvantage.areEqual(trained.map(({ score }) => score))) return []
  return [firstWith(trained, (a, b) => a > b), firstWith(trained, (a, b) => a < b)]
}

/** Sequences of all pairs, the better one first; each holds its partner's index among them. */
const pairsOf = <S extends Candidate>(
  groups: ReadonlyArray<ReadonlyArray<S>>
): ReadonlyArray<S & { readonly pair: Pair }> =>
  groups.flatMap(pairOf).map((sequence, index) => ({
    ...sequence,
    pair: index % 2 === 0 ? { partner: index + 1, preference: 1 } : { partner: index - 1, preference: -1 }
  }))

export interface TrainingSequence {
  /** (T) */
  readonly tokens: Int32Array
  /** (T) 1 where trained, else 0. */
  readonly mask: Uint8Array
  /** (T) */
  readonly advantages: Float32Array
  /**
   * (T) under the policy that sampled it, at `temperature`; NaN where not sampled. Absent if they are of another
   * temperature, or were changed by penalties or a grammar.
   */
  readonly engineLogprobs?: Float32Array
  /** (T) under the reference policy, if the environment provides them. */
  readonly refLogprobs?: Float32Array
  /** (T, K_t) the teacher's likeliest tokens and their logprobs; K_t may be 0. */
  readonly distillTokenIds?: ReadonlyArray<Int32Array>
  readonly distillLogprobs?: ReadonlyArray<Float32Array>
  /** ((T - 1) W) packed expert indices of its positions at sampling, as in `ScoredGroup`. */
  readonly routedExperts?: Int32Array
  /**
   * (T, K_t) ids left by top-k, top-p and min-p: logprobs of trainer and reference are renormalised over them, as the
   * sampler's are. Absent if the sampler's logprobs are of the whole vocabulary.
   */
  readonly keptTokens?: ReadonlyArray<Int32Array>
  readonly pair?: Pair
  readonly temperature: number
  readonly sampling?: Sampling.Sampling
  readonly score: number
  /** Policy version of the weights that sampled it; null if unknown. */
  readonly policyVersion: number | null
  readonly group: number
  /** Id of the environment that sent it, if the service provides it. */
  readonly environment?: number
}

export interface SequenceCounts {
  readonly groups: number
  /** Groups in which all scores are equal, dropped or not. */
  readonly constantGroups: number
  readonly sequences: number
  /** Sequences whose loss was masked because they ended at the token limit. */
  readonly truncatedMasked: number
  /** Trained tokens without a sampling logprob; the loss treats them as sampled by the current policy (ratio 1). */
  readonly unknownLogprobs: number
}

/** The teacher's logprob of token t itself; undefined if it is not among the teacher's candidates. */
export const teacherLogprob = (
  { distillLogprobs, distillTokenIds, tokens }: TrainingSequence,
  t: number
): number | undefined => {
  const at = distillTokenIds?.[t]?.indexOf(tokens[t]!) ?? -1
  return at === -1 ? undefined : distillLogprobs?.[t]?.[at]
}

/** Merged settings of sequence i; the most specific win. */
export const switchesOf = ({ generationParams, groupOverrides, overrides }: ScoredGroup.ScoredGroup, i: number) => ({
  ...groupOverrides,
  ...generationParams,
  ...overrides?.[i]
})

/** True if sequence i was truncated: its overrides contain `truncated: true` or `finish_reason: "length"`. */
export const isTruncated = ({ overrides }: ScoredGroup.ScoredGroup, i: number): boolean =>
  overrides?.[i]?.["truncated"] === true || overrides?.[i]?.["finish_reason"] === "length"

/** True if the logprob marks an unsampled token. Rounding may put real ones slightly above 0. */
export const isUnknown = (logprob: number): boolean => !(logprob <= 0.5)

const countUnknown = ({ engineLogprobs, mask }: TrainingSequence): number =>
  mask.reduce(
    (sum, trained, t) => sum + (trained === 1 && isUnknown(engineLogprobs?.[t] ?? Trajectory.notSampled) ? 1 : 0),
    0
  )

const ofGroup = (
  group: ScoredGroup.ScoredGroup,
  index: number,
  settings: SequenceSettings,
  usualTemperature: number,
  advantages: Advantages.Rule,
  batch: ScoreAdvantage.BatchScores | undefined
) => {
  const { advantages_G_T, isConstant } = Advantages.ofGroup(group, advantages, batch)
  const sequences = group.tokens.map((tokens, i): TrainingSequence => {
    const isMasked = settings.maskTruncated && isTruncated(group, i)
    const temperature = settings.isPolicyGradient
      ? Advantages.temperatureOf(group, i, usualTemperature)
      : usualTemperature
    const sampling = Sampling.ofSwitches(switchesOf(group, i))
    // Raw logprobs are at temperature 1 and do not describe sampling at another one. The distribution after penalties
    // or a grammar cannot be computed here.
    const isOther =
      (sampling?.logprobs === "raw" && temperature !== 1) ||
      (sampling?.logprobs === "processed" && Sampling.isShifted(sampling))
    const engineLogprobs = isOther ? undefined : group.inferenceLogprobs?.[i]
    const kept = sampling?.logprobs === "processed" && !isOther ? group.keptTokens?.[i] : undefined
    const keptTokens = kept?.some((ids) => ids.length > 0) === true ? kept : undefined
    // An environment's are of the whole vocabulary: the engine's own are of the same tokens as the policy's.
    const refLogprobs = keptTokens === undefined ? group.refLogprobs?.[i] : undefined
    const distillTokenIds = group.distillTokenIds?.[i]
    const distillLogprobs = group.distillLogprobs?.[i]
    const routedExperts = group.routedExperts?.[i]
    return {
      tokens,
      mask: isMasked ? new Uint8Array(tokens.length) : group.masks[i]!,
      advantages: advantages_G_T[i]!,
      ...(engineLogprobs && { engineLogprobs }),
      ...(refLogprobs && { refLogprobs }),
      ...(distillTokenIds && { distillTokenIds }),
      ...(distillLogprobs && { distillLogprobs }),
      ...(routedExperts !== undefined && routedExperts.length > 0 && { routedExperts }),
      ...(keptTokens && { keptTokens }),
      temperature,
      ...(sampling && { sampling }),
      score: group.scores[i]!,
      policyVersion: group.policyVersions?.[i] ?? null,
      group: index,
      ...(group.envId !== undefined && { environment: group.envId })
    }
  })
  const truncatedMasked = settings.maskTruncated ? group.tokens.filter((_, i) => isTruncated(group, i)).length : 0
  return { sequences, isConstant, truncatedMasked }
}

/** Converts the groups of a batch, in order. `usualTemperature` applies to sequences without a recorded one. */
export const ofGroups = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  settings: SequenceSettings,
  usualTemperature = 1,
  /** Default: the rule of the settings. */
  advantages: Advantages.Rule = settings
): { readonly sequences: ReadonlyArray<TrainingSequence>; readonly counts: SequenceCounts } => {
  const batch = Advantages.ofBatch(groups, advantages)
  const read = groups.map((group, index) => ofGroup(group, index, settings, usualTemperature, advantages, batch))
  const kept = read.filter(({ isConstant }) => !(settings.dropConstantGroups && isConstant))
  const bySequences = kept.map((group) => group.sequences)
  const sequences = settings.needsPairs ? pairsOf(bySequences) : bySequences.flat()
  return {
    sequences,
    counts: {
      groups: groups.length,
      constantGroups: read.filter(({ isConstant }) => isConstant).length,
      sequences: sequences.length,
      truncatedMasked: kept.reduce((sum, { truncatedMasked }) => sum + truncatedMasked, 0),
      unknownLogprobs: sequences.reduce((sum, sequence) => sum + countUnknown(sequence), 0)
    }
  }
}
