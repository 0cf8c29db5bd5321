/** Tells components of a reward (`reward/<component>`) from the trainer's own metrics of it. Pure. */

const prefix = "reward/"

/** The trainer's: mean, deviation and solved share of a batch (docs/metrics.md). */
const wholes: ReadonlySet<string> = new Set(["reward/mean", "reward/std", "reward/solved_fraction"])

/** The component that a metric is of; null for any other metric. */
export const componentOf = (metric: string): string | null =>
  metric.startsWith(prefix) && !wholes.has(metric) ? metric.slice(prefix.length) : null
