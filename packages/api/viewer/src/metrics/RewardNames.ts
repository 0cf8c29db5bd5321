/** Separates reward components (`reward/<component>`) from the trainer's own metrics, and titles scores. Pure. */

const prefix = "reward/"

/** The trainer's: mean, standard deviation and solved share of a batch (docs/metrics.md). */
const wholes: ReadonlySet<string> = new Set(["reward/mean", "reward/std", "reward/solved_fraction"])

/** The component of a metric; null for other metrics. */
export const componentOf = (metric: string): string | null =>
  metric.startsWith(prefix) && !wholes.has(metric) ? metric.slice(prefix.length) : null

/** Title of an evaluated score: `eval/percent_correct` as `Percent correct`, `eval/reward/near` as `Component near`. */
export const titleOf = (metric: string): string => {
  const name = metric.replace(/^eval\//, "").replace(/^reward\//, "component ")
  const words = name.replaceAll(/[_/]+/g, " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
