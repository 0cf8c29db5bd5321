/**
 * Metrics of one training step: one batch and its weight updates (none if the step was skipped).
 *
 * Means are over trained tokens unless stated otherwise; logprobs in nats, times in seconds. Unmeasured metrics are
 * absent (no reference model, no logprobs from the engine, nothing trained, no norm from a remote engine). `wireNames`
 * are the recorded names: the original trainer's where it has them (`train/loss`, `grpo/clipped_fraction`,
 * `alignment/diff_mean`).
 */
export interface StepMetrics {
  /** Batches consumed including this one, from 1. */
  readonly step: number
  /** Version of the weights after the step: number of steps that changed them. */
  readonly policyVersion: number
  readonly batchId: string
  /** Why the weights were not updated; null if they were. */
  readonly skipped: "nonFinite" | "nothingToTrain" | null
  /** Weight updates with this batch: fewer than `updates_per_batch` if one had a NaN or infinite loss or gradient. */
  readonly updates: number
  /** In the first update, like entropy, divergences and the gradient norm. */
  readonly loss: number
  /** Norm before clipping. */
  readonly gradNorm?: number
  readonly lr: number
  /** Over all sequences of the batch. */
  readonly rewardMean: number
  readonly rewardStd: number
  /** Solved share of the batch's sequences whose environments report it. */
  readonly solvedFraction?: number
  readonly kl?: number
  readonly entropy?: number
  /** π / π_old over all updates; so is the clipped fraction. */
  readonly ratioMean?: number
  readonly ratioMax?: number
  readonly clippedFraction?: number
  /** Weight that corrects sampler mismatch (`importance_sampling`), and the share of tokens at which it was capped. */
  readonly importanceMean?: number
  readonly importanceCappedFraction?: number
  /** Shares of tokens masked by `off_policy_bound` and by `entropy_share`. */
  readonly offPolicyMaskedFraction?: number
  readonly entropyMaskedFraction?: number
  /** The teacher's minus the policy's logprob, and the share of tokens that have a teacher logprob. */
  readonly teacherDiff?: number
  readonly teacherFraction?: number
  readonly crossEntropy?: number
  /** Preference margin of the better sequence of a pair (`dpo`), and the share of pairs in which it is preferred. */
  readonly marginMean?: number
  readonly preferredFraction?: number
  /** Trainer's minus engine's logprob of trained tokens, before the update. */
  readonly mismatchMean?: number
  readonly mismatchAbsMean?: number
  readonly mismatchMax?: number
  /** KL divergence of the trainer's from the engine's distribution, k3 estimator. */
  readonly mismatchKl?: number
  /** Mean absolute logprob difference over tokens sampled from the current weights (`Mismatch`). */
  readonly mismatchOnPolicy?: number
  /** The bound of that difference: `max_mismatch`, or what the first step measured on weights of 8 bits. */
  readonly maxMismatch?: number
  readonly logprobMean?: number
  readonly sequences: number
  readonly groups: number
  readonly constantGroups: number
  /** Sequences excluded: too long, NaN or infinite values, ids outside the vocabulary, no trained tokens. */
  readonly unusable: number
  /** Trained tokens without a usable sampler logprob: treated as sampled by the current policy. */
  readonly unknownLogprobs: number
  /** Share of the batch's sequences that ended at the token limit, trained on or not. */
  readonly truncatedFraction: number
  /** Share of sequences whose loss was masked because they ended at the limit (`mask_truncated`). */
  readonly truncatedMaskedFraction: number
  readonly trainedTokens: number
  /** Share of computed positions that are not padding. */
  readonly usefulFraction: number
  readonly microBatches: number
  /** Computed tokens per second of the step, waiting excluded. */
  readonly tokensPerSecond: number
  /** In weight versions, over sequences of known version. */
  readonly stalenessMean: number
  readonly stalenessMax: number
  readonly staleDropped: number
  readonly staleMasked: number
  readonly versionUnknown: number
  /** The whole step including waiting, and its parts. */
  readonly stepSeconds: number
  readonly waitSeconds: number
  readonly prepareSeconds: number
  readonly computeSeconds: number
  readonly updateSeconds: number
  readonly publishSeconds: number
  readonly saveSeconds: number
  /** Processors that this process used on average since the previous step, in all its threads. */
  readonly processors?: number
  /** Its resident memory. */
  readonly memoryBytes?: number
  /** 99th percentile of the delay of its event loop since the previous step. */
  readonly eventLoopSeconds?: number
}

export const wireNames = {
  policyVersion: "train/policy_version",
  loss: "train/loss",
  gradNorm: "train/grad_norm",
  lr: "train/lr",
  stepSeconds: "train/step_time",
  publishSeconds: "train/sync_time",
  waitSeconds: "train/data_fetch_time",
  prepareSeconds: "train/prepare_time",
  computeSeconds: "train/compute_time",
  updateSeconds: "train/update_time",
  saveSeconds: "train/save_time",
  tokensPerSecond: "train/tokens_per_second",
  trainedTokens: "train/tokens",
  usefulFraction: "train/useful_fraction",
  microBatches: "train/micro_batches",
  updates: "train/updates",
  rewardMean: "reward/mean",
  rewardStd: "reward/std",
  solvedFraction: "reward/solved_fraction",
  ratioMean: "grpo/mean_ratio",
  ratioMax: "grpo/max_ratio",
  clippedFraction: "grpo/clipped_fraction",
  importanceMean: "grpo/importance",
  importanceCappedFraction: "grpo/importance_capped_fraction",
  offPolicyMaskedFraction: "grpo/off_policy_masked_fraction",
  entropyMaskedFraction: "grpo/entropy_masked_fraction",
  teacherDiff: "distill/teacher_diff",
  teacherFraction: "distill/teacher_fraction",
  crossEntropy: "distill/cross_entropy",
  marginMean: "dpo/margin",
  preferredFraction: "dpo/preferred_fraction",
  kl: "grpo/kl",
  entropy: "grpo/entropy",
  logprobMean: "logprobs/training_mean",
  mismatchMean: "alignment/diff_mean",
  mismatchAbsMean: "alignment/diff_abs_mean",
  mismatchMax: "alignment/diff_max",
  mismatchKl: "alignment/kl",
  mismatchOnPolicy: "alignment/on_policy_diff",
  maxMismatch: "alignment/max_mismatch",
  sequences: "batch/sequences",
  groups: "batch/groups",
  constantGroups: "batch/zero_variance_groups",
  unusable: "batch/unusable",
  unknownLogprobs: "batch/unknown_logprobs",
  truncatedFraction: "batch/truncated_fraction",
  truncatedMaskedFraction: "batch/truncated_masked_fraction",
  stalenessMean: "staleness/mean",
  stalenessMax: "staleness/max",
  staleDropped: "staleness/dropped",
  staleMasked: "staleness/masked",
  versionUnknown: "staleness/unknown",
  processors: "system/processors",
  memoryBytes: "system/memory",
  eventLoopSeconds: "system/event_loop_delay"
} as const satisfies { readonly [K in keyof StepMetrics]?: string }

/** Flags, 0 or 1: weights not updated, and not updated because of a NaN or infinite loss or gradient. */
export const skippedNames = { any: "train/skipped", nonFinite: "train/skipped_not_finite" } as const

/** Metrics by recorded name, including NaN and infinities; unmeasured ones are absent. */
export const values = (metrics: StepMetrics): { readonly [name: string]: number } => {
  const figures: Record<string, number> = {}
  for (const [key, name] of Object.entries(wireNames)) {
    // The table's keys are all numeric fields.
    const value = metrics[key as keyof typeof wireNames]
    if (value !== undefined) figures[name] = value
  }
  figures[skippedNames.any] = metrics.skipped === null ? 0 : 1
  figures[skippedNames.nonFinite] = metrics.skipped === "nonFinite" ? 1 : 0
  return figures
}

/** Labels written next to the step in files. */
export const labels = ({ batchId, policyVersion }: StepMetrics): { readonly [name: string]: string | number } => ({
  policy_version: policyVersion,
  batch: batchId
})

const figure = (name: string, value: number | undefined, digits = 3): ReadonlyArray<string> =>
  value === undefined ? [] : [`${name} ${value.toFixed(digits)}`]

/** Formats a step as one line for the terminal. */
export const line = (metrics: StepMetrics): string => {
  return [
    `step ${metrics.step}`,
    ...(metrics.skipped === null ? [] : [`skipped (${metrics.skipped})`]),
    ...figure("reward", metrics.rewardMean),
    ...figure("solved", metrics.solvedFraction),
    // A policy that trains once on each batch has a loss near 0 regardless of what it learns.
    ...(metrics.entropy === undefined ? figure("loss", metrics.loss, 4) : figure("entropy", metrics.entropy)),
    ...figure("kl", metrics.kl, 4),
    ...figure("mismatch", metrics.mismatchOnPolicy, 4),
    ...figure("grad", metrics.gradNorm, 2),
    ...figure("staleness", metrics.stalenessMean, 1),
    `${Math.round(metrics.tokensPerSecond)} tokens/s`,
    ...figure("seconds", metrics.stepSeconds, 2)
  ].join("  ")
}
