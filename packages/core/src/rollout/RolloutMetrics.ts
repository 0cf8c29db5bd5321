/**
 * Figures of one environment's rollouts: collected while it runs, given out once per trainer step, counted as metrics.
 *
 * Names are the original's where it has the figure (atroposlib/envs/base.py, `wandb_log`, `perf_stats`), all are in
 * `docs/metrics.md`. Lengths, scores and staleness are of accepted groups alone; sent is what the service answered for.
 */
import { Effect, Metric } from "effect"
import * as Evaluation from "../Evaluation.ts"
import type { ServerMetrics } from "../inference/backend/Inference.ts"
import * as RewardComponents from "../RewardComponents.ts"
import type { ScoredGroup } from "../ScoredGroup.ts"
import * as Scoring from "../Scoring.ts"
import { completionLengths, type DropReason, type FilterOptions, tooShort } from "./submit/GroupFilter.ts"

const groupsCounter = Metric.counter("atropos.rollout.groups.total", {
  description: "scored groups by outcome",
  incremental: true
})
const itemsCounter = Metric.counter("atropos.rollout.items.total", {
  description: "rollouts of items by outcome",
  incremental: true
})
const runningGauge = Metric.gauge("atropos.rollout.running", { description: "items being rolled out" })
const unsentGauge = Metric.gauge("atropos.rollout.unsent", { description: "groups the service has not answered for" })

export type ItemOutcome = "succeeded" | "failed" | "died" | "timeout" | "given_up" | "unscorable"

export interface RolloutMetrics {
  /** A group came out of a rollout, whatever the filters say of it. */
  readonly rolledOut: (group: ScoredGroup, limits: Pick<FilterOptions, "maxTokenLength" | "minTrainedTokens">) => void
  /** A group passed the filters while the trainer, if there is one, was at `step`. */
  readonly kept: (group: ScoredGroup, step?: number) => void
  readonly dropped: (reason: DropReason) => void
  readonly delivered: (isDuplicate: boolean) => void
  readonly item: (outcome: ItemOutcome, millis: number) => void
  /** Groups the service has answered for since the last `take`. */
  readonly sentSinceTaken: () => number
  /** The figures since the last `take`, and a fresh start. */
  readonly take: () => { readonly [name: string]: number }
  /** Items that will not be tried again, over the whole run. */
  readonly finished: () => number
  /** Over the whole run: groups sent and dropped by reason, items by outcome. */
  readonly totals: () => Totals
  /** Brings the Effect metrics up to date. */
  readonly publish: (gauges: { readonly running: number; readonly unsent: number }) => Effect.Effect<void>
}

export interface Totals {
  readonly groupsSent: number
  /** Sent before, by this program or a predecessor that crashed. */
  readonly duplicates: number
  readonly dropped: { readonly [reason in DropReason]?: number }
  readonly items: { readonly [outcome in ItemOutcome]?: number }
}

/** Collects for one environment, whose claims say which scores it may give. */
export const make = (environment: string, judging?: Scoring.Judging): RolloutMetrics => {
  const isOutside = judging === undefined ? () => false : Scoring.outsideClaims(judging)
  let window = emptyWindow()
  const dropped: { [reason in DropReason]?: number } = {}
  const items: { [outcome in ItemOutcome]?: number } = {}
  const unpublishedGroups = new Map<string, number>()
  const unpublishedItems = new Map<string, number>()
  let groupsSent = 0
  let duplicates = 0
  return {
    rolledOut: (group, { maxTokenLength, minTrainedTokens = 0 }) => {
      window.sequences += group.tokens.length
      window.truncated += truncated(group, maxTokenLength)
      window.tooShort += tooShort(group, minTrainedTokens)
      window.judged += group.solved?.length ?? 0
      window.solved += group.solved?.filter(Boolean).length ?? 0
      window.outside += group.scores.filter(isOutside).length
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
    totals: () => ({ groupsSent, duplicates, dropped: { ...dropped }, items: { ...items } }),
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

interface Window {
  kept: number
  /** Of those kept, with scores that are all equal. */
  identical: number
  sent: number
  sequences: number
  truncated: number
  tooShort: number
  /** Rollouts with a score outside of the claimed range. */
  outside: number
  /** Rollouts of which it is said whether they solve their item, and those that do. */
  judged: number
  solved: number
  readonly lengths: Array<number>
  readonly scores: Array<number>
  readonly temperatures: Set<unknown>
  readonly staleness: Spread
  rewards: ReadonlyMap<string, RewardComponents.Total>
  readonly dropped: Map<string, number>
  // Sums, not lists: while every group is dropped no step ends the window.
  readonly durations: Spread
  readonly succeeded: Spread
  readonly failed: Spread
}

const emptyWindow = (): Window => ({
  kept: 0,
  identical: 0,
  sent: 0,
  sequences: 0,
  truncated: 0,
  tooShort: 0,
  outside: 0,
  judged: 0,
  solved: 0,
  lengths: [],
  scores: [],
  temperatures: new Set(),
  staleness: makeSpread(),
  rewards: new Map(),
  dropped: new Map(),
  durations: makeSpread(),
  succeeded: makeSpread(),
  failed: makeSpread()
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
  if (window.judged > 0) figures["train/solved_fraction"] = window.solved / window.judged
  if (window.scores.length > 0) {
    const { max, min, std } = spreadOf(window.scores)
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
    const { max, mean, min, std } = spreadOf(window.lengths)
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

/** Mean, standard deviation (population's, as the original), largest and smallest of numbers that are not kept. */
interface Spread {
  readonly count: () => number
  readonly add: (value: number) => void
  readonly figures: () => { readonly mean: number; readonly std: number; readonly max: number; readonly min: number }
}

const makeSpread = (): Spread => {
  let count = 0
  let mean = 0
  let squares = 0
  let max = Number.NEGATIVE_INFINITY
  let min = Number.POSITIVE_INFINITY
  return {
    count: () => count,
    // Welford 1962: no difference of two large sums.
    add: (value) => {
      count++
      const before = value - mean
      mean += before / count
      squares += before * (value - mean)
      max = Math.max(max, value)
      min = Math.min(min, value)
    },
    figures: () => ({ mean, std: Math.sqrt(squares / count), max, min })
  }
}

const spreadOf = (values: ReadonlyArray<number>): ReturnType<Spread["figures"]> => {
  const spread = makeSpread()
  for (const value of values) spread.add(value)
  return spread.figures()
}

/** Sequences that ended at their token limit, or reach the run's. */
const truncated = ({ overrides, tokens }: ScoredGroup, maxTokenLength: number): number => {
  let count = 0
  for (const [index, { length }] of tokens.entries()) {
    if (overrides?.[index]?.["finish_reason"] === "length" || (maxTokenLength > 0 && length >= maxTokenLength)) count++
  }
  return count
}

/** Only of more than one value, as the original. */
const perf = (figures: Record<string, number>, name: string, spread: Spread): void => {
  if (spread.count() < 2) return
  for (const [kind, value] of Object.entries(spread.figures())) figures[`train_perf/${name}_${kind}`] = value
}

/**
 * The inference servers' figures, all servers of the list: `server/server_<i>_request_time_avg`,
 * `server/server_<i>_eval_…`.
 */
export const serverFigures = (servers: ReadonlyArray<ServerMetrics>): { readonly [name: string]: number } => {
  const figures: Record<string, number> = {}
  const order = [...new Set(servers.map(({ server }) => server))]
  for (const metrics of servers) {
    // As the original's watcher of inference nodes has it; what is a node is not known here.
    figures[`server/server_health_0_${order.indexOf(metrics.server)}`] = metrics.healthy ? 1 : 0
    if (metrics.count === 0) continue
    const name = `server/server_${order.indexOf(metrics.server)}${metrics.split === "eval" ? "_eval" : ""}`
    figures[`${name}_request_time_avg`] = metrics.latencyMean
    figures[`${name}_request_time_std`] = metrics.latencyStd
    figures[`${name}_request_time_max`] = metrics.latencyMax
    figures[`${name}_request_time_p95`] = metrics.latencyP95
    // The original's word order.
    figures[`${name}_request_time_99p`] = metrics.latencyP99
    figures[`${name}_average_num_attempts`] = 1 + metrics.retries / metrics.count
    figures[`${name}_tokens_per_second`] = metrics.tokensPerSecond
    figures[`${name}_failures`] = metrics.failures
  }
  return figures
}
