/** Distinguishes reward components (`reward/<component>`) from the trainer's own reward metrics. Pure. */

const prefix = "reward/"

/** The trainer's: mean, standard deviation and solved share of a batch (docs/metrics.md). */
const wholes: ReadonlySet<string> = new Set(["reward/mean", "reward/std", "reward/solved_fraction"])

/** The component of a metric; null for other metrics. */
export const componentOf = (metric: string): string | null =>
  metric.startsWith(prefix) && !wholes.has(metric) ? metric.slice(prefix.length) : null
