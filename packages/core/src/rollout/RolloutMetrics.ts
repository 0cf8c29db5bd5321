/**
 * Collects metrics of one environment's rollouts, reports them once per trainer step, and publishes them as Effect
 * metrics.
 *
 * Names are the original's where it has the metric (atroposlib/envs/base.py, `wandb_log`, `perf_stats`);
 * `docs/metrics.md` lists them all. Completion lengths, scores and staleness cover accepted groups only, `_p95` is a
 * percentile, and groups count as sent once the service has answered for them.
 */
import { Effect, Metric } from "effect"
import * as Expected from "../evaluation/Expected.ts"
import * as Evaluation from "../evaluation/Statistics.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as Scoring from "../definition/Scoring.ts"
import * as Spread from "./Spread.ts"
import * as EqualAnswers from "./submit/EqualAnswers.ts"
import { completionLengths, type DropReason, type FilterOptions, tooShort } from "./submit/GroupFilter.ts"

export { of as serverFigures } from "./ServerFigures.ts"

const groupsCounter = Metric.counter("atropos.rollout.groups.total", {
  description: "scored groups by outcome",
  incremental: true
})
const itemsCounter = Metric.counter("atropos.rollout.items.total", {
  description: "rollouts of items by outcome",
  incremental: true
})
const runningGauge = Metric.gauge("atropos.rollout.running", { description: "items being rolled out" })
const unsentGauge = Metric.gauge("atropos.rollout.unsent", {
  description: "groups not yet acknowledged by the service"
})

export type ItemOutcome = "succeeded" | "failed" | "died" | "timeout" | "given_up" | "unscorable"

export interface RolloutMetrics {
  /** A group was rolled out, before filtering. */
  readonly rolledOut: (group: ScoredGroup, limits: Pick<FilterOptions, "maxTokenLength" | "minTrainedTokens">) => void
  /** A group passed the filters while the trainer, if any, was at `step`. */
  readonly kept: (group: ScoredGroup, step?: number) => void
  readonly dropped: (reason: DropReason) => void
  readonly delivered: (isDuplicate: boolean) => void
  readonly item: (outcome: ItemOutcome, millis: number) => void
  readonly sentSinceTaken: () => number
  /** Returns the metrics since the last `take` and resets them. */
  readonly take: () => { readonly [name: string]: number }
  /** Items that will not be retried, over the whole run. */
  readonly finished: () => number
  /** Over the whole run: groups sent and dropped by reason, items by outcome. */
  readonly totals: () => Totals
  readonly publish: (gauges: { readonly running: number; readonly unsent: number }) => Effect.Effect<void>
}

export interface Totals {
  readonly groupsSent: number
  /** Already sent by this program or by a predecessor that crashed. */
  readonly duplicates: number
  readonly dropped: { readonly [reason in DropReason]?: number }
  readonly items: { readonly [outcome in ItemOutcome]?: number }
  /** Sequences rolled out, before filtering, and those that ended at a token limit. */
  readonly answers: { readonly total: number; readonly truncated: number }
}

/** Collects for one environment, whose claims define the allowed scores. */
export const make = (environment: string, judging?: Scoring.Judging): RolloutMetrics => {
  const isOutside = judging === undefined ? () => false : Scoring.outsideClaims(judging)
  let window = emptyWindow()
  const dropped: { [reason in DropReason]?: number } = {}
  const items: { [outcome in ItemOutcome]?: number } = {}
  const unpublishedGroups = new Map<string, number>()
  const unpublishedItems = new Map<string, number>()
  const answers = { total: 0, truncated: 0 }
  let groupsSent = 0
  let duplicates = 0
  return {
    rolledOut: (group, { maxTokenLength, minTrainedTokens = 0 }) => {
      const cut = truncated(group, maxTokenLength)
      window.sequences += group.tokens.length
      window.truncated += cut
      answers.total += group.tokens.length
      answers.truncated += cut
      window.tooShort += tooShort(group, minTrainedTokens)
      window.judged += group.solved?.length ?? 0
      window.solved += group.solved?.filter(Boolean).length ?? 0
      window.outside += group.scores.filter(isOutside).length
      if (window.equals.length < maxEquals) window.equals.push(...EqualAnswers.find(group))
      const isExpected = Expected.of(group)
      for (const [rollout, score] of group.scores.entries()) {
        window.range.add(score)
        if (isExpected !== undefined) (isExpected(rollout) ? window.expected : window.others).add(score)
      }
      window.rewards = RewardComponents.totals(group.rewards ?? [], window.rewards)
    },
    kept: (group, step) => {
      window.kept++
      if (group.scores.length > 1 && group.scores.every((score) => score === group.scores[0])) window.identical++
      for (const length of completionLengths(group)) window.lengths.push(length)
      for (const score of group.scores) window.scores.push(score)
      window.temperatures.add(group.generationParams?.["temperature"])
      if (step === undefined) return
      for (const version of group.policyVersions ?? []) {
        if (version !== null) window.staleness.add(Math.max(0, step - version))
      }
    },
    dropped: (reason) => {
      count(window.dropped, reason)
      dropped[reason] = (dropped[reason] ?? 0) + 1
      count(unpublishedGroups, reason)
    },
    delivered: (isDuplicate) => {
      window.sent++
      if (isDuplicate) duplicates++
      else groupsSent++
      count(unpublishedGroups, isDuplicate ? "duplicate" : "sent")
    },
    item: (outcome, millis) => {
      items[outcome] = (items[outcome] ?? 0) + 1
      count(unpublishedItems, outcome)
      if (outcome === "given_up") return
      window.attempts++
      if (outcome !== "succeeded" && outcome !== "unscorable") window.failedAttempts++
      const seconds = millis / 1000
      window.durations.add(seconds)
      if (outcome === "succeeded") window.succeeded.add(seconds)
      else window.failed.add(seconds)
    },
    sentSinceTaken: () => window.sent,
    take: () => {
      const figures = toFigures(window)
      window = emptyWindow()
      return figures
    },
    finished: () => (items.succeeded ?? 0) + (items.unscorable ?? 0) + (items.given_up ?? 0),
    totals: () => ({ groupsSent, duplicates, dropped: { ...dropped }, items: { ...items }, answers: { ...answers } }),
    publish: Effect.fnUntraced(function* ({ running, unsent }) {
      const groups = [...unpublishedGroups]
      const rollouts = [...unpublishedItems]
      unpublishedGroups.clear()
      unpublishedItems.clear()
      for (const [outcome, number] of groups) {
        yield* Metric.update(Metric.withAttributes(groupsCounter, { environment, outcome }), number)
      }
      for (const [outcome, number] of rollouts) {
        yield* Metric.update(Metric.withAttributes(itemsCounter, { environment, outcome }), number)
      }
      yield* Metric.update(Metric.withAttributes(runningGauge, { environment }), running)
      yield* Metric.update(Metric.withAttributes(unsentGauge, { environment }), unsent)
    })
  }
}

/** Kept per window: while every group is dropped, no step ends the window. */
const maxEquals = 10_000

interface Window {
  kept: number
  /** Kept groups whose scores are all equal. */
  identical: number
  sent: number
  sequences: number
  truncated: number
  tooShort: number
  /** Rollouts with a score outside of the claimed range. */
  outside: number
  /** Repeated answers within a group, and the scores of all rollouts. */
  readonly equals: Array<EqualAnswers.Equals>
  readonly range: Spread.Spread
  /** Scores of answers that match the expected one of their item, and of the others. */
  readonly expected: Spread.Spread
  readonly others: Spread.Spread
  /** Rollouts of items, and those that failed, died or timed out. */
  attempts: number
  failedAttempts: number
  /** Rollouts with a known solved state, and those that are solved. */
  judged: number
  solved: number
  readonly lengths: Array<number>
  readonly scores: Array<number>
  readonly temperatures: Set<unknown>
  readonly staleness: Spread.Spread
  rewards: ReadonlyMap<string, RewardComponents.Total>
  readonly dropped: Map<string, number>
  // Running sums instead of lists: while every group is dropped, no step ends the window.
  readonly durations: Spread.Spread
  readonly succeeded: Spread.Spread
  readonly failed: Spread.Spread
}

const emptyWindow = (): Window => ({
  kept: 0,
  identical: 0,
  sent: 0,
  sequences: 0,
  truncated: 0,
  tooShort: 0,
  outside: 0,
  equals: [],
  range: Spread.make(),
  expected: Spread.make(),
  others: Spread.make(),
  attempts: 0,
  failedAttempts: 0,
  judged: 0,
  solved: 0,
  lengths: [],
  scores: [],
  temperatures: new Set(),
  staleness: Spread.make(),
  rewards: new Map(),
  dropped: new Map(),
  durations: Spread.make(),
  succeeded: Spread.make(),
  failed: Spread.make()
})

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

const toFigures = (window: Window): { readonly [name: string]: number } => {
  const dropped = [...window.dropped.values()].reduce((sum, number) => sum + number, 0)
  const groups = window.kept + dropped
  const figures: Record<string, number> = {
    "train/items_sent_to_api": window.sent,
    "train/items_rejected": dropped,
    ...Object.fromEntries([...window.dropped].map(([reason, number]) => [`train/items_rejected/${reason}`, number]))
  }
  if (groups > 0)
    figures["train/percent_identical"] = (window.identical + (window.dropped.get("identical_scores") ?? 0)) / groups
  if (window.sequences > 0) {
    figures["train/truncated_fraction"] = window.truncated / window.sequences
    figures["train/too_short_fraction"] = window.tooShort / window.sequences
    figures["train/out_of_range_fraction"] = window.outside / window.sequences
  }
  const { max, min } = window.range.figures()
  const contradicting = EqualAnswers.contradicting(window.equals, max - min)
  if (contradicting !== undefined) figures["train/contradicting_fraction"] = contradicting
  if (max > min && window.expected.count() > 0 && window.others.count() > 0) {
    const [expected, others] = [window.expected.figures().mean, window.others.figures().mean]
    figures["train/expected_gain"] = (expected - others) / (max - min)
  }
  if (window.attempts > 0) figures["train/failed_fraction"] = window.failedAttempts / window.attempts
  if (window.judged > 0) figures["train/solved_fraction"] = window.solved / window.judged
  if (window.scores.length > 0) {
    const { max, min, std } = Spread.of(window.scores)
    figures["train/scores_mean"] = Evaluation.mean(window.scores)
    figures["train/scores_std"] = std
    figures["train/scores_min"] = min
    figures["train/scores_p10"] = Evaluation.quantile(window.scores, 0.1)
    figures["train/scores_p50"] = Evaluation.quantile(window.scores, 0.5)
    figures["train/scores_p90"] = Evaluation.quantile(window.scores, 0.9)
    figures["train/scores_max"] = max
  }
  const [temperature, ...others] = window.temperatures
  if (typeof temperature === "number" && others.length === 0) figures["train/temperature"] = temperature
  if (window.staleness.count() > 0) {
    const { max, mean } = window.staleness.figures()
    figures["train/staleness_mean"] = mean
    figures["train/staleness_max"] = max
  }
  if (window.lengths.length > 0) {
    const { max, mean, min, std } = Spread.of(window.lengths)
    figures["train/completion_lengths"] = mean
    figures["train/completion_lengths_std"] = std
    figures["train/completion_lengths_max"] = max
    figures["train/completion_lengths_min"] = min
    figures["train/completion_lengths_p95"] = Evaluation.quantile(window.lengths, 0.95)
  }
  for (const [component, { count, sum }] of window.rewards) figures[`reward/${component}`] = sum / count
  perf(figures, "task_duration", window.durations)
  perf(figures, "succeeded_task_duration", window.succeeded)
  perf(figures, "failed_task_duration", window.failed)
  return figures
}

/** Sequences that ended at their token limit or reach the run's. */
const truncated = ({ overrides, tokens }: ScoredGroup, maxTokenLength: number): number => {
  let count = 0
  for (const [index, { length }] of tokens.entries()) {
    if (overrides?.[index]?.["finish_reason"] === "length" || (maxTokenLength > 0 && length >= maxTokenLength)) count++
  }
  return count
}

/** Only for more than one value, as in the original. */
const perf = (figures: Record<string, number>, name: string, spread: Spread.Spread): void => {
  if (spread.count() < 2) return
  for (const [kind, value] of Object.entries(spread.figures())) figures[`train_perf/${name}_${kind}`] = value
}
