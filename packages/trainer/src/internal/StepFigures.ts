/** The metrics of a step, from what its parts reported. */
import type { Batch } from "@atropos/core"
import type { Computed } from "../Learner.ts"
import type { Packed } from "../MicroBatch.ts"
import type { Figures } from "../Staleness.ts"
import type { StepMetrics } from "../StepMetrics.ts"
import type { SequenceCounts } from "../TrainingSequence.ts"

export interface Parts {
  readonly batch: Batch.Batch
  readonly progress: { readonly step: number; readonly policyVersion: number }
  readonly lr: number
  readonly counts: SequenceCounts
  readonly packed: Packed
  readonly staleness: Figures
  readonly computed: Computed
  readonly gradNorm: number
  readonly skipped: StepMetrics["skipped"]
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

export const of = (parts: Parts): StepMetrics => {
  const { batch, computed, counts, packed, progress, seconds, staleness } = parts
  const { report } = packed
  const figure = (name: string) => computed.figures.get(name)
  const tokens = figure("tokens") ?? 0
  /** A sum over tokens as a mean; nothing where it was not taken or there are no tokens. */
  const mean = <K extends keyof StepMetrics>(key: K, sum: number | undefined, count = tokens) =>
    sum === undefined || count === 0 ? {} : { [key]: sum / count }
  const most = <K extends keyof StepMetrics>(key: K, value: number | undefined, count = tokens) =>
    value === undefined || count === 0 ? {} : { [key]: value }
  const clipped = figure("clipped_low")
  const known = figure("mismatch_tokens") ?? 0
  const work = seconds.prepare + seconds.compute + seconds.update + seconds.publish + seconds.save
  return {
    step: progress.step,
    policyVersion: progress.policyVersion,
    batchId: batch.id,
    skipped: parts.skipped,
    loss: computed.loss,
    gradNorm: parts.gradNorm,
    lr: parts.lr,
    ...momentsOf(batch.groups),
    ...mean("kl", figure("kl")),
    ...mean("entropy", figure("entropy")),
    ...mean("logprobMean", figure("logprob")),
    ...mean("ratioMean", figure("ratio")),
    ...most("ratioMax", figure("ratio_max")),
    ...mean("clippedFraction", clipped === undefined ? undefined : clipped + (figure("clipped_high") ?? 0)),
    ...mean("mismatchMean", figure("mismatch"), known),
    ...mean("mismatchAbsMean", figure("mismatch_abs"), known),
    ...most("mismatchMax", figure("mismatch_abs_max"), known),
    ...mean("mismatchKl", figure("mismatch_kl"), known),
    sequences: batch.groups.reduce((sum, { tokens }) => sum + tokens.length, 0),
    groups: batch.groups.length,
    constantGroups: counts.constantGroups,
    unusable: report.dropped.length,
    truncatedFraction: counts.sequences === 0 ? 0 : counts.truncated / counts.sequences,
    trainedTokens: report.trainedTokens,
    usefulFraction: report.paddedTokens === 0 ? 1 : report.usefulTokens / report.paddedTokens,
    microBatches: packed.microBatches.length,
    tokensPerSecond: work === 0 ? 0 : report.usefulTokens / work,
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
    saveSeconds: seconds.save
  }
}
