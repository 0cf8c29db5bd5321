/** The table of all rules of a run's health. */
import * as TimeSpan from "../base/TimeSpan.ts"
import { type Finding, type Findings, percent, type Rule, seriesOf, standing, trainer, window } from "./Finding.ts"
import * as GraderRules from "./GraderRules.ts"
import * as PolicyRules from "./PolicyRules.ts"
import * as RateRule from "./RateRule.ts"
import * as RewardRules from "./RewardRules.ts"
import * as Series from "./Series.ts"
import type { Recorded } from "./Series.ts"

/** The rule for environments whose items fail, with the reason of the last failure if known. */
const some = 0.2
const half = 0.5
/** Min rows to judge at the beginning of a run. */
const fewest = 3

/** Since when at least a fifth has failed. */
const found = (series: ReturnType<typeof Series.finite>): ReturnType<typeof standing> => {
  const isMet = (share: number): boolean => share >= some
  const { steps, values } = series
  if (values.length >= window) return standing(series, isMet)
  const now = Series.mean(values)
  const first = values.findIndex(isMet)
  return values.length < fewest || !isMet(now) ? undefined : { from: steps[first]!, to: steps.at(-1)!, now }
}

const failureRules: Rule = {
  title: "Items failing",
  words: `over the last ${window} rows of an environment (at least ${fewest} at the start), ${percent(some)} of its rollouts failed, crashed or timed out; an error from ${percent(half)} on`,
  judge: (recorded) =>
    recorded.sourcesOf("train/failed_fraction").flatMap((source): Findings => {
      const metric = "train/failed_fraction"
      const share = found(seriesOf(recorded, source, metric))
      if (share === undefined) return []
      const last = recorded.activity?.()?.errors.find(({ environment }) => environment === source)
      return [
        {
          severity: share.now >= half ? "broken" : "suspect",
          source,
          metric,
          from: share.from,
          to: share.to,
          message: `${percent(share.now)} of the rollouts of ${source} fail since step ${share.from}${last === undefined ? "" : `; last error: ${last.message}`}.`
        }
      ]
    })
}

/** The rule for a run without progress, as judged by the service (`Activity`). */
const lastStep = (recorded: Recorded): number =>
  ["reward/mean", "train/loss", "train/scores_mean"].reduce((last, metric) => {
    const of = recorded
      .sourcesOf(metric)
      .map((source) => Number(Array.from(recorded.points(source, metric).steps).at(-1)))
    return Math.max(last, ...of.filter(Number.isFinite))
  }, 0)

const stalledRule: Rule = {
  title: "Run stalled",
  words:
    "no step, group or metrics for a minute or ten step times (ten minutes before the first step, unless an environment reports errors, and while the trainer works on a batch), although a process of the run is alive; or its processes ended before the last step without deregistering",
  judge: (recorded) => {
    const activity = recorded.activity?.()
    if (activity === undefined) return []
    const { environment, idleSeconds, reason, state } = activity
    if (state !== "stalled" && (state !== "stopped" || reason === null)) return []
    const step = lastStep(recorded)
    const idle = TimeSpan.format(idleSeconds)
    return [
      {
        severity: "broken",
        source: environment ?? trainer,
        metric: "",
        from: step,
        to: step,
        message: `${state === "stalled" ? `No progress for ${idle}` : `Stopped ${idle} ago`}${reason === null ? "" : `: ${reason}`}.`
      }
    ]
  }
}

/** The rule for a mixture that lost a part, as judged by the service (`Activity`). */
const lostRule: Rule = {
  title: "Environment lost",
  words:
    "an environment has not been heard from for a minute and did not deregister, while others of the run are: batches are made without it",
  judge: (recorded) => {
    const activity = recorded.activity?.()
    if (activity === undefined || (activity.state !== "running" && activity.state !== "starting")) return []
    const { environment, reason } = activity
    if (environment === null || reason === null) return []
    const step = lastStep(recorded)
    return [{ severity: "broken", source: environment, metric: "", from: step, to: step, message: `${reason}.` }]
  }
}

/** By name, gravest first. */
export const rules = {
  stalled: stalledRule,
  lost: lostRule,
  grader: GraderRules.grader,
  expected: GraderRules.expected,
  contradictions: GraderRules.contradictions,
  out_of_range: GraderRules.outOfRange,
  held_out: GraderRules.heldOut,
  failures: failureRules,
  learning_rate: RateRule.learningRate,
  collapse: RewardRules.collapse,
  not_finite: PolicyRules.notFinite,
  truncation: PolicyRules.truncation,
  skipped: PolicyRules.skipped,
  stuck: RewardRules.stuck,
  length_hacking: RewardRules.lengthHacking,
  fall: RewardRules.fall,
  entropy_low: PolicyRules.entropyLow,
  entropy_high: PolicyRules.entropyHigh,
  divergence: PolicyRules.divergence,
  gradient: PolicyRules.gradient,
  mismatch: PolicyRules.mismatch,
  length: PolicyRules.length,
  identical: RewardRules.zeroVariance
} as const satisfies { readonly [name: string]: Rule }

export type RuleName = keyof typeof rules

// Object.keys loses the literal types.
export const ruleNames = Object.keys(rules) as ReadonlyArray<RuleName> as readonly [
  RuleName,
  ...ReadonlyArray<RuleName>
]

export type Found = Finding & { readonly rule: RuleName }
