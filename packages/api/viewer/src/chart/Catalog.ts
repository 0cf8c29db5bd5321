/**
 * Defines the charts and their metrics (docs/metrics.md) as plain values. A chart has a line per trace, source and run
 * with the metric; without any it is hidden. Metrics without a chart here are listed by name below.
 */
import { isCurve, type MetricTable } from "../metrics/MetricTable.ts"
import * as RewardNames from "../metrics/RewardNames.ts"
import * as Temperatures from "../metrics/Temperatures.ts"
import type { Unit } from "../ui/Quantity.ts"

/** The band around a line: the spread of values, or the uncertainty of their mean. */
export type Spread =
  | { readonly kind: "range"; readonly low: string; readonly high: string; readonly label: string }
  | { readonly kind: "standardError"; readonly metric: string; readonly label: string }

export interface Trace {
  readonly label: string
  readonly metric: string
  /** Values are divided by those of this metric, step by step. */
  readonly per?: string
  readonly spread?: Spread
  /** Few measurements among lines: each drawn, not smoothed. */
  readonly isMeasured?: boolean
}

export interface Chart {
  readonly id: string
  readonly title: string
  /** A one-sentence explanation. */
  readonly help: string
  readonly unit: Unit
  /** `stacked`: the traces are parts of a whole; `points`: few measurements, each drawn, not smoothed. */
  readonly kind: "lines" | "stacked" | "points"
  readonly traces: ReadonlyArray<Trace>
  readonly source?: string
  /** Queue metrics are not recorded but observed while the page is open. */
  readonly isWatched?: boolean
}

export const isMeasured = (chart: Chart, trace: Trace): boolean => chart.kind === "points" || trace.isMeasured === true

export interface Section {
  readonly title: string
  readonly charts: ReadonlyArray<Chart>
}

const lines = (id: string, title: string, unit: Unit, help: string, traces: ReadonlyArray<Trace>): Chart => ({
  id,
  title,
  unit,
  help,
  kind: "lines",
  traces
})

const trace = (label: string, metric: string, more: Omit<Trace, "label" | "metric"> = {}): Trace => ({
  label,
  metric,
  ...more
})

const reward: Section = {
  title: "Reward",
  charts: [
    lines("reward", "Reward", "number", "Mean score of the sequences of a batch.", [trace("batch", "reward/mean")]),
    lines("solved", "Solved", "share", "Share of sequences that count as solved.", [
      trace("rolled out", "train/solved_fraction"),
      trace("batch", "reward/solved_fraction")
    ]),
    lines("scores", "Reward by environment", "number", "Mean score of each environment's submitted groups.", [
      trace("mean", "train/scores_mean")
    ]),
    lines("identical", "Identical scores", "share", "Share of groups whose scores are all equal: no learning signal.", [
      trace("rolled out", "train/percent_identical"),
      trace("trained on", "batch/zero_variance_groups", { per: "batch/groups" })
    ])
  ]
}

const learning: Section = {
  title: "Learning",
  charts: [
    lines("loss", "Loss", "number", "A policy loss is near 0 with one update per batch.", [
      trace("loss", "train/loss")
    ]),
    lines("kl", "KL from the reference", "nats", "Estimated divergence from the reference model, per token.", [
      trace("KL", "grpo/kl")
    ]),
    lines("clip", "Clip fraction", "share", "Share of tokens whose importance ratio was clipped.", [
      trace("clipped", "grpo/clipped_fraction")
    ]),
    lines("skipped", "Skipped steps", "number", "1 = no update (NaN, or no learning signal).", [
      trace("skipped", "train/skipped"),
      trace("NaN or infinite", "train/skipped_not_finite")
    ]),
    lines("gradient", "Gradient norm", "number", "Norm of the gradient before clipping.", [
      trace("norm", "train/grad_norm")
    ]),
    lines(
      "entropy",
      "Entropy",
      "nats",
      "Entropy of the policy's next token; a sudden drop means that it stops exploring.",
      [trace("entropy", "grpo/entropy")]
    ),
    lines(
      "mismatch",
      "Logprob mismatch",
      "nats",
      "Trainer minus sampler logprobs of the same tokens; should stay near zero.",
      [
        trace("absolute", "alignment/diff_abs_mean"),
        trace("signed", "alignment/diff_mean"),
        trace("same weights", "alignment/on_policy_diff"),
        trace("KL", "alignment/kl")
      ]
    ),
    lines("rate", "Learning rate", "number", "At each update.", [trace("rate", "train/lr")])
  ]
}

const rollouts: Section = {
  title: "Rollouts",
  charts: [
    lines("lengths", "Completion length", "tokens", "Tokens per completion in submitted groups.", [
      trace("mean", "train/completion_lengths"),
      trace("p95", "train/completion_lengths_p95"),
      trace("max", "train/completion_lengths_max")
    ]),
    lines("truncation", "Truncation", "share", "Share of completions that hit the token limit.", [
      trace("rolled out", "train/truncated_fraction"),
      trace("in batches", "batch/truncated_fraction"),
      trace("masked in training", "batch/truncated_masked_fraction")
    ]),
    lines("staleness", "Staleness", "number", "Weight updates between sampling a sequence and training on it.", [
      trace("mean", "staleness/mean"),
      trace("max", "staleness/max")
    ]),
    {
      ...lines("queue", "Queue", "number", "Groups waiting for the trainer, since this page was opened.", [
        trace("queued groups", "queue/groups"),
        trace("buffered groups", "queue/buffered"),
        trace("formed batches", "queue/batches")
      ]),
      isWatched: true
    }
  ]
}

const speed: Section = {
  title: "Speed",
  charts: [
    lines(
      "tokens",
      "Training tokens/s",
      "perSecond",
      "Per second of wall-clock step time, and per second of compute, waiting excluded.",
      [trace("wall clock", "train/tokens", { per: "train/step_time" }), trace("compute", "train/tokens_per_second")]
    ),
    lines("groups", "Training groups/s", "perSecond", "Per second of wall-clock step time.", [
      trace("groups", "batch/groups", { per: "train/step_time" })
    ]),
    {
      ...lines("parts", "Step time breakdown", "seconds", "Phases of a step; waiting is for rollouts.", [
        trace("waiting", "train/data_fetch_time"),
        trace("preparing", "train/prepare_time"),
        trace("computing", "train/compute_time"),
        trace("updating", "train/update_time"),
        trace("syncing", "train/sync_time"),
        trace("saving", "train/save_time")
      ]),
      kind: "stacked"
    }
  ]
}

const system: Section = {
  title: "System",
  charts: [
    lines("processors", "Processors", "number", "Used on average by the trainer's process, with engines inside it.", [
      trace("processors", "system/processors")
    ]),
    lines("memory", "Memory", "bytes", "Resident memory of the trainer's process.", [trace("memory", "system/memory")]),
    lines("loop", "Event loop delay", "seconds", "99th percentile since the previous step.", [
      trace("p99", "system/event_loop_delay")
    ])
  ]
}

/** Adds the mean score of held-out items to the chart of the reward, which has the same unit. */
const withHeldOut =
  (names: ReadonlyArray<string>) =>
  (chart: Chart): Chart => {
    const name = "eval/mean_score"
    if (chart.id !== "reward" || !names.includes(name)) return chart
    const spread = spreadOf(name, names)
    const measured = trace("held-out", name, { isMeasured: true, ...(spread !== undefined && { spread }) })
    return { ...chart, help: `${chart.help} Points: held-out items.`, traces: [...chart.traces, measured] }
  }

/** Metrics of evaluations other than scores. */
const counts = new Set(["eval/items", "eval/failed_items", "eval/seconds", "eval/temperature"])
const bounds = /_(stderr|ci_low|ci_high)$/

/** By name: success rates and fractions are shares. */
export const unitOf = (metric: string): Unit =>
  /percent|fraction|pass@|accuracy|_rate$/.test(metric) ? "share" : "number"

/** A chart for each evaluated score, with its 95% confidence interval if known. */
const evaluation = (names: ReadonlyArray<string>, sampled: string): Section => ({
  title: "Evaluation",
  charts: names
    .filter((name) => name.startsWith("eval/") && !counts.has(name) && !bounds.test(name))
    .map((name) => {
      const spread = spreadOf(name, names)
      return {
        id: name,
        title: RewardNames.titleOf(name),
        help: `On held-out items${sampled}.`,
        unit: unitOf(name),
        kind: "points",
        traces: [trace("mean", name, spread === undefined ? {} : { spread })]
      }
    })
})

/** The 95% confidence interval of an evaluated score, if recorded. */
export const spreadOf = (name: string, names: ReadonlyArray<string>): Spread | undefined => {
  const label = "bars: 95% CI"
  if (names.includes(`${name}_ci_low`) && names.includes(`${name}_ci_high`)) {
    return { kind: "range", low: `${name}_ci_low`, high: `${name}_ci_high`, label }
  }
  return names.includes(`${name}_stderr`) ? { kind: "standardError", metric: `${name}_stderr`, label } : undefined
}

/** A chart for each environment with reward components, one curve each. */
const components = (runs: ReadonlyArray<Tables>): ReadonlyArray<Chart> => {
  const sources = new Map<string, Set<string>>()
  for (const { table } of runs) {
    for (const name of table.names()) {
      if (RewardNames.componentOf(name) === null) continue
      for (const source of table.sourcesOf(name)) sources.set(source, (sources.get(source) ?? new Set()).add(name))
    }
  }
  return [...sources].map(([source, names]) => ({
    ...lines(
      `components:${source}`,
      sources.size > 1 ? `Reward components · ${source}` : "Reward components",
      "number",
      "Mean of each reward component, unweighted.",
      [...names].sort().map((name) => trace(RewardNames.componentOf(name) ?? name, name))
    ),
    source
  }))
}

/** Runs with their metrics; those of the queue are separate, since they are only known since the page was opened. */
interface Tables {
  readonly table: MetricTable
  readonly watched: MetricTable
}

/** The sections of charts with data for the runs. */
export const sections = (runs: ReadonlyArray<Tables>): ReadonlyArray<Section> => {
  const names = namesOf(runs)
  const recorded = new Set(names)
  // A single state of the queue is not a curve.
  const watched = new Set(runs.flatMap(({ watched }) => (isCurve(watched) ? watched.names() : [])))
  const scored: Section = { ...reward, charts: [...reward.charts.map(withHeldOut(names)), ...components(runs)] }
  return [scored, evaluation(names, Temperatures.sampledAt(runs)), learning, rollouts, speed, system]
    .map(({ charts, title }) => ({
      title,
      charts: charts.filter(({ isWatched, traces }) => {
        const available = isWatched === true ? watched : recorded
        return traces.some(({ metric, per }) => available.has(metric) && (per === undefined || available.has(per)))
      })
    }))
    .filter(({ charts }) => charts.length > 0)
}

/** Metrics by the prefix before the last slash: `server/server_0_failures` under `server`. */
export const byPrefix = (
  names: ReadonlyArray<string>,
  search: string
): ReadonlyArray<{ readonly prefix: string; readonly charts: ReadonlyArray<Chart> }> => {
  const words = search.toLowerCase().split(/\s+/)
  const matches = names.filter((name) => words.every((word) => name.toLowerCase().includes(word)))
  return Object.entries(Object.groupBy(matches, (name) => name.slice(0, Math.max(0, name.lastIndexOf("/")))))
    .map(([prefix, names = []]) => ({ prefix, charts: names.map(single) }))
    .sort((left, right) => left.prefix.localeCompare(right.prefix))
}

const single = (name: string): Chart =>
  lines(`metric:${name}`, name, unitOf(name), "", [trace(name.slice(name.lastIndexOf("/") + 1), name)])

export const namesOf = (runs: ReadonlyArray<Tables>): ReadonlyArray<string> =>
  [...new Set(runs.flatMap(({ table }) => table.names()))].sort()
