/**
 * The rule for a too high learning rate: an update that broke the policy, or a reward lost by training itself since the
 * start. Wrong samplers and changed graders have their own rules.
 */
import { type Findings, percent, type Rule, seriesOf, trainer, window, written } from "./Finding.ts"
import * as GraderRules from "./GraderRules.ts"
import * as PolicyChange from "./PolicyChange.ts"
import * as Series from "./Series.ts"

type Values = ReturnType<typeof Series.finite>

/** A policy that broke at a step, with the evidence. */
interface Break {
  readonly from: number
  readonly message: string
}

/** Min values after the break, and max before it. */
const fewest = 5
/** Changes between the last value before the break and the first after it. */
const rises = 0.3
const times = 2
const nats = 0.5
const lost = 0.25
/** At this truncated share the few answers that end by themselves decide the reward: its changes mean nothing. */
const mostlyTruncated = 0.9

const means = ({ steps, values }: Values, from: number) => {
  const at = steps.findIndex((step) => step >= from)
  if (at < 1 || values.length - at < fewest) return undefined
  return { before: Series.mean(values.subarray(Math.max(0, at - window), at)), now: Series.mean(values.subarray(at)) }
}

/** Finds a step in which the truncated share or the entropy rose and stayed high. */
const breakOf = (recorded: Series.Recorded): Break | undefined => {
  const cut = seriesOf(recorded, trainer, "batch/truncated_fraction")
  const entropy = seriesOf(recorded, trainer, "grpo/entropy")
  const find = (series: Values, isBreak: (before: number, now: number) => boolean) => {
    for (let at = 1; at + fewest <= series.values.length; at++) {
      if (!isBreak(series.values[at - 1]!, series.values[at]!)) continue
      const sides = means(series, series.steps[at]!)
      if (sides !== undefined && isBreak(sides.before, sides.now)) return { from: series.steps[at]!, ...sides }
    }
    return undefined
  }
  const cutOff = find(cut, (before, now) => now - before >= rises)
  if (cutOff !== undefined) {
    return {
      from: cutOff.from,
      message: `${percent(cutOff.now)} of the answers are truncated since step ${cutOff.from}, ${percent(cutOff.before)} before`
    }
  }
  const wild = find(entropy, (before, now) => now >= times * before && now - before >= nats)
  return (
    wild && {
      from: wild.from,
      message: `entropy is ${written(wild.now)} nats since step ${wild.from}, ${written(wild.before)} before`
    }
  )
}

/** Detects a significant loss of the reward of the start. */
const lossOf = (recorded: Series.Recorded): Break | undefined => {
  const reward = seriesOf(recorded, trainer, "reward/mean")
  const { steps, values } = reward
  if (values.length < 2 * window) return undefined
  const [first, last] = [values.subarray(0, window), values.subarray(-window)]
  const [start, now] = [Series.mean(first), Series.mean(last)]
  const deviation = Series.mean(seriesOf(recorded, trainer, "reward/std").values.subarray(0, window))
  const answers = Series.mean(seriesOf(recorded, trainer, "batch/sequences").values.subarray(0, window)) * window
  // Only the sampling error of the answers: the steps themselves differ by the loss.
  const error = answers > 0 && deviation > 0 ? deviation / Math.sqrt(answers) : Series.errorBetween(first, last)
  // A later best was lost by something other than the first steps.
  const best = Series.meansOver(values, window).reduce((max, mean) => Math.max(max, mean), start)
  if (start <= 0 || now > lost * start || start - now < 3 * error || best > start + 2 * error) return undefined
  // Requires that its first updates changed the policy: otherwise its items may have become harder.
  const changes = PolicyChange.of(recorded, trainer)
  if (!Array.from(steps.subarray(0, 2 * window)).some(changes.isAt)) return undefined
  const from = steps[Series.breakOf(values) ?? 0]!
  return { from, message: `the reward was ${written(start)} over the first ${window} steps and is ${written(now)} now` }
}

const isTruncatedFromStart = (recorded: Series.Recorded): boolean => {
  const { values } = seriesOf(recorded, trainer, "batch/truncated_fraction")
  return values.length > 0 && Series.mean(values.subarray(0, window)) >= mostlyTruncated
}

const rateAt = (recorded: Series.Recorded, step: number): string => {
  const { steps, values } = seriesOf(recorded, trainer, "train/lr")
  const at = Math.max(0, steps.findIndex((one) => one >= step) - 1)
  return values[at] === undefined ? "" : ` (${written(values[at])} at step ${steps[at]})`
}

export const learningRate: Rule = {
  title: "Learning rate too high",
  words: `in one step truncation rose by ${percent(rises)} of the answers, or entropy to ${times} times its value and by ${nats} nats, for ${fewest} steps or more, while the reward fell to half or less; or the reward of the last ${window} steps is significantly below ${percent(lost)} of that of the first ${window} and was never above it, and entropy or truncation changed abruptly in the first ${2 * window} steps; and the grader did not change, nor were ${percent(mostlyTruncated)} of the answers of the first ${window} steps truncated`,
  judge: (recorded): Findings => {
    if (GraderRules.grader.judge(recorded).length > 0 || isTruncatedFromStart(recorded)) return []
    const broken = breakOf(recorded)
    const reward = seriesOf(recorded, trainer, "reward/mean")
    const rewards = broken && means(reward, broken.from)
    const found = rewards !== undefined && rewards.now <= rewards.before / 2 ? broken : lossOf(recorded)
    if (found === undefined) return []
    return [
      {
        severity: "broken",
        source: trainer,
        metric: "reward/mean",
        from: found.from,
        to: reward.steps.at(-1) ?? found.from,
        message: `Training made the policy worse: ${found.message}. The learning rate${rateAt(recorded, found.from)} is too high: restart with a tenth of it, or resume from an earlier checkpoint with a lower one.`
      }
    ]
  }
}
