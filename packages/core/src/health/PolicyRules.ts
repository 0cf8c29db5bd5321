/** Rules for the update and the policy: NaN, entropy, divergence, gradient, length, mismatch. */
import {
  atFirst,
  type Findings,
  listed,
  percent,
  type Rule,
  seriesOf,
  standing,
  trainer,
  window,
  written
} from "./Finding.ts"
import * as Learned from "./Learned.ts"
import * as Series from "./Series.ts"

/** Steps at which a trainer's metric is NaN or infinite. */
const oddSteps = (recorded: Series.Recorded, metric: string): ReadonlyArray<number> => {
  const { steps, values } = recorded.points(trainer, metric)
  return Array.from({ length: values.length }, (_, index) => index).flatMap((index) =>
    Number.isFinite(values[index]) ? [] : [steps[index]!]
  )
}

const markedSteps = (recorded: Series.Recorded, metric: string): ReadonlyArray<number> => {
  const { steps, values } = seriesOf(recorded, trainer, metric)
  return [...steps].filter((_, index) => values[index]! > 0)
}

export const notFinite: Rule = {
  title: "NaN or infinite loss",
  words: "the loss or the gradient of a step was NaN or infinite, so the step did not update the weights",
  judge: (recorded) => {
    const found = new Set([
      ...oddSteps(recorded, "train/loss"),
      ...oddSteps(recorded, "train/grad_norm"),
      ...markedSteps(recorded, "train/skipped_not_finite")
    ])
    const steps = [...found].sort((left, right) => left - right)
    if (steps.length === 0) return []
    return [
      {
        severity: "broken",
        source: trainer,
        metric: "train/loss",
        from: steps[0]!,
        to: steps.at(-1)!,
        steps,
        message: `Loss or gradient was NaN or infinite at ${steps.length === 1 ? "step" : "steps"} ${listed(steps)}: no update there.`
      }
    ]
  }
}

/** Steps without signal because everything was already solved. */
const solvedSteps = (recorded: Series.Recorded): ReadonlyArray<number> => {
  const until = Learned.solvedUntil(recorded, trainer)
  const { steps, values } = Series.sharesOf(
    recorded.points(trainer, "batch/zero_variance_groups"),
    recorded.points(trainer, "batch/groups")
  )
  return [...steps].filter((step, index) => values[index] === 1 && step < until)
}

const skippedFrom = 0.5

export const skipped: Rule = {
  title: "Steps skipped",
  words: `half of the last ${window} steps did not update the weights, because no group had a learning signal; once ${percent(Learned.mostly)} of the answers are solved, steps whose groups all have identical scores do not count`,
  judge: (recorded) => {
    const odd = new Set([...markedSteps(recorded, "train/skipped_not_finite"), ...solvedSteps(recorded)])
    const { steps, values } = seriesOf(recorded, trainer, "train/skipped")
    const own = values.map((value, index) => (odd.has(steps[index]!) ? 0 : value))
    const found = standing({ steps, values: own }, (share) => share >= skippedFrom)
    if (found === undefined) return []
    return [
      {
        severity: "broken",
        source: trainer,
        metric: "train/skipped",
        from: found.from,
        to: found.to,
        message: `${found.now === 1 ? `None of the last ${window} steps updated` : `${percent(found.now)} of the last ${window} steps did not update`} the weights: no group had a learning signal (since step ${found.from}).${Learned.inWords(recorded, trainer)}`
      }
    ]
  }
}

interface Level {
  readonly metric: string
  readonly title: string
  readonly words: string
  readonly sources?: "environments"
  /** The trainer's metric to use until an environment has recorded enough of `metric`. */
  readonly else?: string
  /** True if it is judged without comparison to the first values, and so from the first window on. */
  readonly isAbsolute?: boolean
  /** True if a mean over the window is so extreme that the run is broken. */
  readonly isBroken?: (now: number) => boolean
  /** The step up to which other evidence excuses it. */
  readonly excusedUntil?: (recorded: Series.Recorded) => number
  /** True if a mean over the window is too extreme, given the first one. */
  readonly isFar: (now: number, start: number, recorded: Series.Recorded) => boolean
  readonly message: (now: number, start: number) => string
}

/** The sources that record a rule's metric, and its name there. */
const tellersOf = (recorded: Series.Recorded, { else: other, metric, sources }: Level) => {
  const series = recorded
    .sourcesOf(metric)
    .filter((source) => (source === trainer) === (sources === undefined))
    .map((source) => ({ source, metric }))
  // An environment's first rows come later than the trainer's steps, and causes must not come after their consequences.
  const isKnown = series.some(({ source }) => seriesOf(recorded, source, metric).values.length >= window)
  return !isKnown && other !== undefined && recorded.sourcesOf(other).includes(trainer)
    ? [{ source: trainer, metric: other }]
    : series
}

/** A rule for a metric whose mean over the last steps is too extreme. */
const level = (rule: Level): Rule => ({
  title: rule.title,
  words: rule.words,
  judge: (recorded) =>
    tellersOf(recorded, rule).flatMap(({ metric, source }): Findings => {
      const { excusedUntil = () => Number.NEGATIVE_INFINITY, isBroken, isFar, message } = rule
      const series = seriesOf(recorded, source, metric)
      const start = atFirst(series) ?? (rule.isAbsolute === true ? Number.NaN : undefined)
      if (start === undefined) return []
      const found = standing(
        series,
        (now) => isFar(now, start, recorded),
        () => excusedUntil(recorded)
      )
      if (found === undefined) return []
      const who = source === trainer ? "" : ` (${source})`
      return [
        {
          severity: isBroken?.(found.now) === true ? "broken" : "suspect",
          source,
          metric,
          from: found.from,
          to: found.to,
          message: `${message(found.now, start)} since step ${found.from}${who}.`
        }
      ]
    })
})

export const entropyLow = level({
  metric: "grpo/entropy",
  title: "Entropy collapsed",
  words: `the policy's mean entropy over the last ${window} steps is below 20% of that of the first ${window} and below 0.3 nats, and the reward has fallen, or does not rise although fewer than ${percent(Learned.mostly)} of the answers are solved`,
  isFar: (now, start) => now < start / 5 && now < 0.3,
  excusedUntil: Learned.learningUntil,
  message: (now, start) =>
    `Entropy is ${written(now)} nats, ${written(start)} at first: the policy has stopped exploring without a better reward,`
})

export const entropyHigh = level({
  metric: "grpo/entropy",
  title: "Entropy rising",
  words: `the policy's mean entropy over the last ${window} steps is three times that of the first ${window}, and above 1 nat`,
  isFar: (now, start) => now > 3 * start && now > 1,
  message: (now, start) => `Entropy is ${written(now)} nats, ${written(start)} at first: the policy is degenerating,`
})

const farFromReference = 0.2
/** As far as the best of a thousand answers of the reference: ln 1000 - 1 + 1/1000. */
const farPerAnswer = 6

/** Mean tokens of an answer, of the environment where it is highest; infinite if not recorded. */
const answerTokens = (recorded: Series.Recorded): number =>
  recorded
    .sourcesOf("train/completion_lengths")
    .map((source) => seriesOf(recorded, source, "train/completion_lengths").values.subarray(-window))
    .filter(({ length }) => length > 0)
    .reduce<number | undefined>((longest = 0, lengths) => Math.max(longest, Series.mean(lengths)), undefined) ??
  Number.POSITIVE_INFINITY

export const divergence = level({
  metric: "grpo/kl",
  title: "High KL from the reference",
  words: `the mean KL divergence from the reference over the last ${window} steps is above ${farFromReference} nats per token, and above ${farPerAnswer} nats for an answer of the mean length: one of a few tokens moves as far by choosing between answers that the reference gives`,
  isFar: (now, _, recorded) => now > farFromReference && now * answerTokens(recorded) > farPerAnswer,
  message: (now) => `KL from the reference is ${written(now)} nats per token,`
})

const mismatched = 0.05

/** Expected trainer-sampler mismatch at the run's precision, if its trainer records it. */
const allowedMismatch = (recorded: Series.Recorded): number =>
  Math.max(mismatched, seriesOf(recorded, trainer, "alignment/max_mismatch").values.at(-1) ?? 0)

export const mismatch = level({
  metric: "alignment/on_policy_diff",
  title: "Sampler–trainer mismatch",
  words: `over the last ${window} steps, the logprobs of trainer and sampler for the same weights differ by more than ${mismatched} nats on average, and by more than the run allows (max_mismatch; with int8, twice what its first step measured)`,
  isAbsolute: true,
  isFar: (now, _, recorded) => now > allowedMismatch(recorded),
  message: (now) => `Trainer and sampler differ by ${written(now)} nats for the same weights,`
})

export const length = level({
  metric: "train/completion_lengths",
  sources: "environments",
  title: "Completion length changed",
  words: `completions of the last ${window} rows are twice as long as the first ${window}, or half as long while the reward has not risen`,
  isFar: (now, start, recorded) => now >= 2 * start || (now <= start / 2 && !Learned.hasImproved(recorded)),
  message: (now, start) => `Completions have ${written(now)} tokens, ${written(start)} at first,`
})

const cutOff = 0.3
/** At this truncated share hardly any answer ends by itself: certainly unintended. */
const mostlyCutOff = 0.8

export const truncation = level({
  metric: "train/truncated_fraction",
  sources: "environments",
  else: "batch/truncated_fraction",
  title: "Answers truncated",
  words: `over the last ${window} rows, ${percent(cutOff)} of an environment's completions end at the token limit (an error from ${percent(mostlyCutOff)} on); of those in batches until an environment has reported ${window}`,
  isAbsolute: true,
  isFar: (now) => now >= cutOff,
  isBroken: (now) => now >= mostlyCutOff,
  message: (now) =>
    `${percent(now)} of the answers were truncated at the token limit (raise max_token_length and seq_len, or ask for shorter ones)`
})

/** Compared to this many earlier values. */
const backward = 20
const tenfold = 10
/** A fully learned run has hardly any gradient, so that a single mistake causes a spike without being one. */
const twofold = 2

export const gradient: Rule = {
  title: "Gradient spike",
  words: `the gradient norm was more than ${tenfold} times that of most of the ${backward} steps before, and more than ${twofold} times that of most earlier steps of the run`,
  judge: (recorded) => {
    const { steps, values } = seriesOf(recorded, trainer, "train/grad_norm")
    const isAboveMost = (at: number, from: number, times: number): boolean => {
      let lower = 0
      for (let before = from; before < at; before++) if (values[before]! * times < values[at]!) lower++
      return lower > (at - from) / 2
    }
    const found = [...steps].filter(
      (_, at) => at >= backward && isAboveMost(at, at - backward, tenfold) && isAboveMost(at, 0, twofold)
    )
    if (found.length === 0) return []
    return [
      {
        severity: "suspect",
        source: trainer,
        metric: "train/grad_norm",
        from: found[0]!,
        to: found.at(-1)!,
        steps: found,
        message: `The gradient norm was more than ${tenfold} times its usual value at ${found.length === 1 ? "step" : "steps"} ${listed(found)}.`
      }
    ]
  }
}
