/** What the verbs that train have in common: the line of a progress bar. */
import type { StepMetrics } from "@atropos/trainer/StepMetrics"

/** `reward` is what stands for the reward: of the step, or a mean over some. */
export const stepDetail = (metrics: StepMetrics, reward: number): string => {
  const { kl, loss, mismatchOnPolicy, skipped, stalenessMean, tokensPerSecond } = metrics
  return [
    `reward ${reward.toFixed(3)}`,
    // Nothing was computed: a loss of 0 would say that something was.
    skipped === "nothingToTrain" ? `nothing to learn from: ${whyNothing(metrics)}` : `loss ${loss.toFixed(4)}`,
    ...(kl === undefined ? [] : [`kl ${kl.toFixed(4)}`]),
    ...(mismatchOnPolicy === undefined ? [] : [`mismatch ${mismatchOnPolicy.toFixed(4)}`]),
    `staleness ${stalenessMean.toFixed(1)}`,
    `${Math.round(tokensPerSecond)} tokens/s`
  ].join(" | ")
}

const whyNothing = ({
  constantGroups,
  groups,
  sequences,
  staleDropped,
  staleMasked,
  truncatedMaskedFraction
}: StepMetrics) => {
  if (constantGroups === groups) return "equal scores"
  if (staleDropped + staleMasked === sequences) return "all too old"
  return truncatedMaskedFraction === 1 ? "all cut off" : "no usable sequence has an advantage"
}
