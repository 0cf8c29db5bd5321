/**
 * What is known of one step: one batch, and the updates of the weights with it, none where the step was skipped.
 *
 * Means are over trained tokens unless said otherwise; logprobs in nats, times in seconds. A figure that was not
 * measured (no reference model, no logprobs from the engine, nothing trained, a norm that a remote engine does not
 * tell) is absent. `wireNames` are the names under which figures are recorded: the original's trainer's where it has
 * them (`train/loss`, `grpo/clipped_fraction`, `alignment/diff_mean`).
 */
export interface StepMetrics {
  /** Batches consumed, this one included: 1 for the first. */
  readonly step: number
  /** Version of the weights after it: steps that changed them. */
  readonly policyVersion: number
  readonly batchId: string
  /** Why the weights were left as they are; null where they were not. */
  readonly skipped: "nonFinite" | "nothingToTrain" | null
  /** Updates of the weights with this batch: fewer than `updates_per_batch` where one was not finite. */
  readonly updates: number
  /** Of the first update, as are entropy, divergences and the gradient's norm. */
  readonly loss: number
  /** Norm of the gradient before clipping. */
  readonly gradNorm?: number
  readonly lr: number
  /** Scores of all sequences of the batch. */
  readonly rewardMean: number
  readonly rewardStd: number
  /** Share of the batch's sequences that their environments count as solved, of those that say so. */
  readonly solvedFraction?: number
  /** Estimated divergence from the reference model. */
  readonly kl?: number
  readonly entropy?: number
  /** π / π_old, over all updates, as is the share of clipped tokens. */
  readonly ratioMean?: number
  readonly ratioMax?: number
  /** Share of tokens at which the ratio was clipped. */
  readonly clippedFraction?: number
  /** Weight against the sampler's mismatch (`importance_sampling`), and the share of tokens at which it was bounded. */
  readonly importanceMean?: number
  readonly importanceCappedFraction?: number
  /** Shares of tokens left out: by `off_policy_bound`, by `entropy_share`. */
  readonly offPolicyMaskedFraction?: number
  readonly entropyMaskedFraction?: number
  /** A teacher's minus the policy's logprob, over the share of tokens that the teacher gave one for. */
  readonly teacherDiff?: number
  readonly teacherFraction?: number
  /** Of a teacher's distribution and the policy's. */
  readonly crossEntropy?: number
  /** By how much the better sequence of a pair is preferred (`dpo`), and the share of pairs in which it is. */
  readonly marginMean?: number
  readonly preferredFraction?: number
  /** Trainer's minus engine's logprob of trained tokens, before the update. */
  readonly mismatchMean?: number
  readonly mismatchAbsMean?: number
  readonly mismatchMax?: number
  /** Divergence of the trainer's from the engine's distribution by the k3 estimator. */
  readonly mismatchKl?: number
  /** Mean absolute difference of the two over tokens that the present weights sampled (`Mismatch`). */
  readonly mismatchOnPolicy?: number
  /** The bound of that difference: `max_mismatch`, or what the first step measured on weights of 8 bits. */
  readonly maxMismatch?: number
  readonly logprobMean?: number
  readonly sequences: number
  readonly groups: number
  /** Groups whose scores are all equal. */
  readonly constantGroups: number
  /** Sequences left out: too long, not finite, outside the vocabulary, nothing to train. */
  readonly unusable: number
  /** Trained tokens without a usable logprob of the sampler: taken as sampled by the present policy. */
  readonly unknownLogprobs: number
  /** Share of the batch's sequences that ended at the token limit, trained on or not. */
  readonly truncatedFraction: number
  /** Share of the sequences whose loss was masked because they ended there (`mask_truncated`). */
  readonly truncatedMaskedFraction: number
  readonly trainedTokens: number
  /** Share of the positions computed that are tokens and no padding. */
  readonly usefulFraction: number
  readonly microBatches: number
  /** Tokens computed a second of the step, waiting excluded. */
  readonly tokensPerSecond: number
  /** In versions of the weights, over sequences of known version. */
  readonly stalenessMean: number
  readonly stalenessMax: number
  readonly staleDropped: number
  readonly staleMasked: number
  /** Sequences of unknown version. */
  readonly versionUnknown: number
  /** The whole step, waiting included, and its parts. */
  readonly stepSeconds: number
  readonly waitSeconds: number
  readonly prepareSeconds: number
  readonly computeSeconds: number
  readonly updateSeconds: number
  readonly publishSeconds: number
  readonly saveSeconds: number
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
  versionUnknown: "staleness/unknown"
} as const satisfies { readonly [K in keyof StepMetrics]?: string }

/** 0 or 1: whether the weights were left as they are, and whether because loss or gradient were no numbers. */
export const skippedNames = { any: "train/skipped", nonFinite: "train/skipped_not_finite" } as const

/** The figures by their recorded names, NaN and the infinities too; those that were not measured are left out. */
export const values = (metrics: StepMetrics): { readonly [name: string]: number } => {
  const figures: Record<string, number> = {}
  for (const [key, name] of Object.entries(wireNames)) {
    // The table's keys are those of numbers.
    const value = metrics[key as keyof typeof wireNames]
    if (value !== undefined) figures[name] = value
  }
  figures[skippedNames.any] = metrics.skipped === null ? 0 : 1
  figures[skippedNames.nonFinite] = metrics.skipped === "nonFinite" ? 1 : 0
  return figures
}

/** What stands beside the step in files. */
export const labels = ({ batchId, policyVersion }: StepMetrics): { readonly [name: string]: string | number } => ({
  policy_version: policyVersion,
  batch: batchId
})

const figure = (name: string, value: number | undefined, digits = 3): ReadonlyArray<string> =>
  value === undefined ? [] : [`${name} ${value.toFixed(digits)}`]

/** One line for people. */
export const line = (metrics: StepMetrics): string => {
  return [
    `step ${metrics.step}`,
    ...(metrics.skipped === null ? [] : [`skipped (${metrics.skipped})`]),
    ...figure("reward", metrics.rewardMean),
    ...figure("solved", metrics.solvedFraction),
    // Of a policy that learns from each batch once the loss is near 0, whatever is learned.
    ...(metrics.entropy === undefined ? figure("loss", metrics.loss, 4) : figure("entropy", metrics.entropy)),
    ...figure("kl", metrics.kl, 4),
    ...figure("mismatch", metrics.mismatchOnPolicy, 4),
    ...figure("grad", metrics.gradNorm, 2),
    ...figure("staleness", metrics.stalenessMean, 1),
    `${Math.round(metrics.tokensPerSecond)} tokens/s`,
    ...figure("seconds", metrics.stepSeconds, 2)
  ].join("  ")
}
