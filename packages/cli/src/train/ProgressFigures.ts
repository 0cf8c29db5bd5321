/**
 * Computes the metrics next to the progress bar of training commands: means over the steps since last shown, at least
 * ten, since single steps are noisy (tokens per second vary tenfold around a checkpoint). A policy's loss is not shown
 * (0 if each batch is used once), but entropy, the share of groups with a learning signal, and the divergence; the loss
 * of supervised examples is.
 */
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"

const fewest = 10
/** Min share of truncated answers to show. */
const mentioned = 0.05

export interface Figures {
  readonly add: (metrics: StepMetrics) => void
  /** Formats the steps since the last call. */
  readonly detail: () => string
}

export const make = (isInDoubt: () => boolean = () => false): Figures => {
  let steps: ReadonlyArray<StepMetrics> = []
  let news = 0
  return {
    add: (metrics) => {
      news++
      steps = [...steps.slice(-Math.max(news, fewest) + 1), metrics]
    },
    detail: () => {
      news = 0
      return detailOf(steps, isInDoubt())
    }
  }
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** Mean over the steps that measured it; undefined if none did. */
const mean = (
  steps: ReadonlyArray<StepMetrics>,
  of: (metrics: StepMetrics) => number | undefined
): number | undefined => {
  const values = steps.flatMap((metrics) => of(metrics) ?? [])
  return values.length === 0 ? undefined : sum(values) / values.length
}

const figure = (name: string, value: number | undefined, digits: number): ReadonlyArray<string> =>
  value === undefined ? [] : [`${name} ${value.toFixed(digits)}`]

const percent = (share: number): string => `${Math.round(100 * share)}%`

/** The loss of a step if it is not a policy's, whose loss is 0 when each batch is used once. */
export const supervisedLoss = ({ loss, ratioMean, skipped }: StepMetrics): number | undefined =>
  skipped === null && ratioMean === undefined ? loss : undefined

/** Metrics over some steps, ending with the state of the last one; with doubtful scores nothing is called solved. */
export const detailOf = (steps: ReadonlyArray<StepMetrics>, isInDoubt = false): string => {
  const of = (name: "entropy" | "kl" | "loss" | "mismatchOnPolicy" | "ratioMean" | "rewardMean" | "stalenessMean") =>
    mean(steps, (metrics) => metrics[name])
  const trained = steps.filter(({ skipped }) => skipped !== "nothingToTrain")
  const isPolicy = of("ratioMean") !== undefined || trained.length === 0
  const groups = sum(steps.map((metrics) => metrics.groups))
  const constant = sum(steps.map(({ constantGroups }) => constantGroups))
  const solved = mean(steps, ({ solvedFraction }) => solvedFraction)
  const clipped = mean(steps, ({ clippedFraction }) => clippedFraction)
  const cut = mean(steps, ({ truncatedFraction }) => truncatedFraction) ?? 0
  const seconds = sum(steps.map(({ stepSeconds }) => stepSeconds))
  return [
    ...figure("reward", of("rewardMean"), 3),
    ...(solved === undefined ? [] : [`${isInDoubt ? "scored as solved" : "solved"} ${percent(solved)}`]),
    ...(isPolicy
      ? figure("entropy", of("entropy"), 3)
      : figure(
          "loss",
          mean(trained, ({ loss }) => loss),
          4
        )),
    // First, because truncated answers explain identical scores.
    ...(cut >= mentioned ? [`truncated ${percent(cut)}`] : []),
    ...(isPolicy && groups > 0 ? [`no-signal groups ${percent(constant / groups)}`] : []),
    ...figure("kl", of("kl"), 4),
    ...(clipped === undefined || clipped === 0 ? [] : [`clipped ${percent(clipped)}`]),
    ...figure("mismatch", of("mismatchOnPolicy"), 4),
    ...figure("staleness", of("stalenessMean"), 1),
    ...(seconds > 0
      ? [
          `${Math.round(sum(steps.map(({ trainedTokens }) => trainedTokens)) / seconds).toLocaleString("en-US")} tokens/s`
        ]
      : []),
    ...skippedOf(steps)
  ].join(" | ")
}

/** Min share that explains identical scores. */
const mostly = 0.5

const skippedOf = (steps: ReadonlyArray<StepMetrics>): ReadonlyArray<string> => {
  const idle = steps.filter(({ skipped }) => skipped === "nothingToTrain")
  const broken = steps.filter(({ skipped }) => skipped === "nonFinite")
  const [first] = idle
  const skipped = (count: number, why: string) =>
    steps.length === 1 ? `skipped (${why})` : `${count} of the last ${steps.length} steps skipped (${why})`
  return [
    ...(first === undefined ? [] : [skipped(idle.length, whyNothing(first))]),
    ...(broken.length === 0 ? [] : [skipped(broken.length, notFinite)])
  ]
}

/** Why a step changed no weights, without its share of truncated answers or advice; undefined if it changed them. */
export const reasonSkipped = (metrics: StepMetrics): string | undefined => {
  if (metrics.skipped === null) return undefined
  return metrics.skipped === "nonFinite" ? notFinite : whyNothing(metrics).split(/[:,]/)[0]
}

const notFinite = "NaN or infinite loss or gradient"

const whyNothing = ({
  constantGroups,
  groups,
  sequences,
  staleDropped,
  staleMasked,
  truncatedFraction,
  truncatedMaskedFraction,
  versionUnknown
}: StepMetrics) => {
  if (constantGroups === groups) {
    return truncatedFraction >= mostly
      ? `identical scores: ${percent(truncatedFraction)} of the answers were truncated at the token limit (max_token_length, seq_len)`
      : "identical scores"
  }
  if (staleDropped + staleMasked === sequences && versionUnknown === sequences) {
    return "their policy version is unknown, and max_staleness is set: servers must report it (--openai.adapter_prefix), or remove max_staleness"
  }
  if (staleDropped + staleMasked === sequences) return "all sequences too old"
  return truncatedMaskedFraction === 1 ? "all truncated" : "no usable sequence has an advantage"
}
