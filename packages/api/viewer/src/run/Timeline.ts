/**
 * Computes, from metrics and groups, which part of a step took how long, and when groups of each environment arrived. A
 * step's metrics are recorded at its end.
 */
import type { MetricTable } from "../metrics/MetricTable.ts"
import type * as Wire from "../source/Wire.ts"

/** Parts of a step, in order. */
export const parts = [
  { metric: "train/data_fetch_time", name: "waiting for rollouts" },
  { metric: "train/prepare_time", name: "preparing" },
  { metric: "train/compute_time", name: "computing" },
  { metric: "train/update_time", name: "updating" },
  { metric: "train/sync_time", name: "syncing weights" },
  { metric: "train/save_time", name: "saving" }
] as const

export interface Span {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** Index in `parts`. */
  readonly part: number
}

export interface Step {
  readonly step: number
  readonly from: number
  readonly to: number
  readonly spans: ReadonlyArray<Span>
}

export interface Timeline {
  readonly from: number
  readonly to: number
  readonly steps: ReadonlyArray<Step>
  readonly arrivals: ReadonlyArray<{ readonly environment: string; readonly times: ReadonlyArray<number> }>
}

const trainer = "trainer"

const byStep = (table: MetricTable, metric: string): ReadonlyMap<number, number> => {
  const { steps, values } = table.points(trainer, metric)
  return new Map(Array.from(steps, (step, at) => [step, values[at]!]))
}

/** At most this many of the last steps; null if the trainer reports no times. */
export const of = (table: MetricTable, rows: ReadonlyArray<Wire.RolloutRow>, max: number): Timeline | null => {
  const whole = table.points(trainer, "train/step_time")
  const shares = parts.map(({ metric }) => byStep(table, metric))
  const steps = Array.from(whole.steps, (step, at) => ({ step, seconds: whole.values[at]!, to: whole.times[at]! }))
    .filter(({ seconds }) => Number.isFinite(seconds) && seconds > 0)
    .slice(-max)
    .map(({ seconds, step, to }): Step => {
      const from = to - seconds * 1000
      let at = from
      const spans = shares.flatMap((share, part): ReadonlyArray<Span> => {
        const millisOf = share.get(step) ?? 0
        if (!(millisOf > 0)) return []
        const start = at
        at = Math.min(to, at + millisOf * 1000)
        return [{ from: start, to: at, part }]
      })
      return { step, from, to, spans }
    })
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined) return null
  const within = rows.filter(({ created_at }) => created_at >= first.from && created_at <= last.to)
  const groups = Map.groupBy(within, ({ environment }) => environment ?? "groups")
  return {
    from: first.from,
    to: last.to,
    steps,
    arrivals: [...groups].map(([environment, millisOf]) => ({
      environment,
      times: millisOf.map(({ created_at }) => created_at)
    }))
  }
}

/** Indices of the positions, from left to right, with room for a label: at least `apart` after the previous one. */
export const labelled = (places: ReadonlyArray<number>, apart: number): ReadonlySet<number> => {
  const visible = new Set<number>()
  let last = Number.NEGATIVE_INFINITY
  for (const [index, place] of places.entries()) {
    if (place - last < apart) continue
    visible.add(index)
    last = place
  }
  return visible
}

export interface Share {
  readonly name: string
  readonly seconds: number
  readonly share: number
}

/** The parts of the steps by time, largest first; the unaccounted rest is `other`. */
export const sharesOf = ({ steps }: Timeline): ReadonlyArray<Share> => {
  const whole = steps.reduce((sum, { from, to }) => sum + to - from, 0)
  const millisOf = parts.map(({ name }, part) => ({
    name: name as string,
    millis: steps
      .flatMap(({ spans }) => spans)
      .reduce((sum, span) => sum + (span.part === part ? span.to - span.from : 0), 0)
  }))
  const other = whole - millisOf.reduce((sum, { millis }) => sum + millis, 0)
  return [...millisOf, { name: "other", millis: other }]
    .filter(({ millis }) => millis > whole / 1000)
    .map(({ millis, name }) => ({ name, seconds: millis / 1000 / steps.length, share: millis / whole }))
    .sort((left, right) => right.share - left.share)
}

const advice: { readonly [name: string]: string } = {
  "waiting for rollouts":
    "The trainer waits for rollouts: more inference servers, more workers or shorter answers make steps faster; a faster trainer won't.",
  computing: "The trainer is the bottleneck: rollouts wait in the queue. More inference servers won't help.",
  updating: "The optimizer is the bottleneck: train fewer weights (an adapter).",
  "syncing weights": "Weight sync is the bottleneck: use an adapter, or sync less often.",
  saving: "Checkpoints are the bottleneck: save less often."
}

export const summarize = (timeline: Timeline, format: (seconds: number) => string): string => {
  const shares = sharesOf(timeline)
  const step = timeline.steps.reduce((sum, { from, to }) => sum + to - from, 0) / 1000 / timeline.steps.length
  const [largest] = shares
  const list = shares.map(({ name, share }) => `${Math.round(share * 100)}% ${name}`).join(", ")
  const more = largest !== undefined && largest.share >= 0.5 ? ` ${advice[largest.name] ?? ""}` : ""
  return `Mean step time of the last ${timeline.steps.length} steps: ${format(step)} (${list}).${more}`
}
