/** Assembles the metrics of a step from the reports of its parts. */
import type { Batch } from "@atropos/core"
import type { Computed } from "../learn/LearnerEngine.ts"
import * as Mismatch from "../learn/Mismatch.ts"
import type { Figures } from "../learn/Staleness.ts"
import type * as ProcessLoad from "./ProcessLoad.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import { isTruncated, type SequenceCounts } from "../learn/TrainingSequence.ts"
import type { Report } from "../learn/WeightedBatch.ts"

export interface Parts {
  readonly batch: Batch.Batch
  readonly progress: { readonly step: number; readonly policyVersion: number }
  readonly lr: number
  readonly counts: SequenceCounts
  readonly report: Report
  readonly staleness: Figures
  readonly computed: Computed
  readonly gradNorm: number | undefined
  readonly compared: Mismatch.Compared
  readonly allowed: number
  readonly skipped: StepMetrics["skipped"]
  /** Number of updates made with the batch, and of gradients computed for them. */
  readonly updates: number
  readonly passes: number
  readonly load: ProcessLoad.Figures
  readonly seconds: {
    readonly wait: number
    readonly prepare: number
    readonly compute: number
    readonly update: number
    readonly publish: number
    readonly save: number
  }
}

const momentsOf = (groups: Batch.Batch["groups"]) => {
  const scores = groups.flatMap((group) => Array.from(group.scores))
  const mean = scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length)
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / Math.max(1, scores.length)
  return { rewardMean: mean, rewardStd: Math.sqrt(variance) }
}

/** Groups from the original's environments, and from environments that send JSON, do not report `solved`. */
const solvedOf = (groups: Batch.Batch["groups"]): Pick<StepMetrics, "solvedFraction"> => {
  const flags = groups.flatMap(({ solved = [] }) => solved)
  return flags.length === 0 ? {} : { solvedFraction: flags.filter(Boolean).length / flags.length }
}

const truncatedOf = (groups: Batch.Batch["groups"]): number =>
  groups.reduce((sum, group) => sum + group.tokens.filter((_, index) => isTruncated(group, index)).length, 0)

const share = (sum: number | undefined, count: number): number | undefined =>
  sum === undefined || count === 0 ? undefined : sum / count

type Measured = Pick<
  StepMetrics,
  | "kl"
  | "entropy"
  | "logprobMean"
  | "ratioMean"
  | "ratioMax"
  | "clippedFraction"
  | "importanceMean"
  | "importanceCappedFraction"
  | "offPolicyMaskedFraction"
  | "entropyMaskedFraction"
  | "teacherDiff"
  | "teacherFraction"
  | "crossEntropy"
  | "marginMean"
  | "preferredFraction"
  | "mismatchMean"
  | "mismatchAbsMean"
  | "mismatchMax"
  | "mismatchKl"
  | "mismatchOnPolicy"
  | "maxMismatch"
>

const withoutUnknown = (figures: { readonly [K in keyof Measured]: number | undefined }): Measured =>
  Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined))

/** The graph's sums over tokens as means. */
const measured = ({ allowed, compared, computed: { figures } }: Parts): Measured => {
  const figure = (name: string) => figures.get(name)
  const tokens = figure("tokens") ?? 0
  const comparedTokens = figure("mismatch_tokens") ?? 0
  const taughtTokens = figure("teacher_tokens") ?? 0
  const comparedSequences = figure("compared") ?? 0
  const low = figure("clipped_low")
  return withoutUnknown({
    kl: share(figure("kl"), tokens),
    entropy: share(figure("entropy"), tokens),
    logprobMean: share(figure("logprob"), tokens),
    ratioMean: share(figure("ratio"), tokens),
    ratioMax: tokens === 0 ? undefined : figure("ratio_max"),
    clippedFraction: share(low === undefined ? undefined : low + (figure("clipped_high") ?? 0), tokens),
    importanceMean: share(figure("importance"), tokens),
    importanceCappedFraction: share(figure("importance_capped"), tokens),
    offPolicyMaskedFraction: share(figure("off_policy_masked"), tokens),
    entropyMaskedFraction: share(figure("entropy_masked"), tokens),
    teacherDiff: share(figure("teacher"), taughtTokens),
    teacherFraction: share(figure("teacher_tokens"), tokens),
    crossEntropy: share(figure("cross_entropy"), tokens),
    marginMean: share(figure("margin"), comparedSequences),
    preferredFraction: share(figure("preferred"), comparedSequences),
    mismatchMean: share(figure("mismatch"), comparedTokens),
    mismatchAbsMean: share(figure("mismatch_abs"), comparedTokens),
    mismatchMax: comparedTokens === 0 ? undefined : figure("mismatch_abs_max"),
    mismatchKl: share(figure("mismatch_kl"), comparedTokens),
    mismatchOnPolicy: Mismatch.mean(compared),
    maxMismatch: compared.tokens === 0 ? undefined : allowed
  })
}

export const of = (parts: Parts): StepMetrics => {
  const { batch, computed, counts, progress, report, seconds, staleness } = parts
  const sequences = batch.groups.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const work = seconds.prepare + seconds.compute + seconds.update + seconds.publish + seconds.save
  return {
    step: progress.step,
    policyVersion: progress.policyVersion,
    batchId: batch.id,
    skipped: parts.skipped,
    loss: computed.loss,
    ...(parts.gradNorm !== undefined && { gradNorm: parts.gradNorm }),
    lr: parts.lr,
    ...momentsOf(batch.groups),
    ...solvedOf(batch.groups),
    ...measured(parts),
    sequences,
    groups: batch.groups.length,
    constantGroups: counts.constantGroups,
    unusable: report.dropped.length,
    unknownLogprobs: counts.unknownLogprobs,
    truncatedFraction: share(truncatedOf(batch.groups), sequences) ?? 0,
    truncatedMaskedFraction: share(counts.truncatedMasked, counts.sequences) ?? 0,
    trainedTokens: report.trainedTokens,
    usefulFraction: computed.positions === 0 ? 1 : (report.usefulTokens - (computed.saved ?? 0)) / computed.positions,
    microBatches: computed.microBatches,
    tokensPerSecond: work === 0 ? 0 : (parts.passes * report.usefulTokens) / work,
    updates: parts.updates,
    stalenessMean: staleness.mean,
    stalenessMax: staleness.max,
    staleDropped: staleness.dropped,
    staleMasked: staleness.masked,
    versionUnknown: staleness.unknown,
    stepSeconds: seconds.wait + work,
    waitSeconds: seconds.wait,
    prepareSeconds: seconds.prepare,
    computeSeconds: seconds.compute,
    updateSeconds: seconds.update,
    publishSeconds: seconds.publish,
    saveSeconds: seconds.save,
    ...parts.load
  }
}
