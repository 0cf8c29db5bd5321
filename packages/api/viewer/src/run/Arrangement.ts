/**
 * The charts of the run page in the order of their weight: what says first how a run fares, then the sections. Each
 * chart stands once, and one that another tells as well does not. Pure.
 */
import type { Chart, Section } from "./Catalog.ts"
import type { RunData } from "./Curves.ts"

export interface Arranged extends Section {
  /** What is looked at first: larger. */
  readonly isMain: boolean
}

/** In this order; of the evaluations the first. */
const mainIds: ReadonlyArray<string> = ["reward", "scores", "eval/", "kl", "entropy", "lengths"]

/** Of the trainer's reward and the one environment's scores the first is enough. */
const isToldTwice = ({ id, traces }: Chart, runs: ReadonlyArray<Pick<RunData, "table">>): boolean =>
  id === "scores" &&
  runs.every(
    ({ table }) =>
      table.sourcesOf("reward/mean").length > 0 && traces.every(({ metric }) => table.sourcesOf(metric).length <= 1)
  )

export const of = (
  sections: ReadonlyArray<Section>,
  runs: ReadonlyArray<Pick<RunData, "table">>
): ReadonlyArray<Arranged> => {
  const all = sections.flatMap(({ charts }) => charts.filter((chart) => !isToldTwice(chart, runs)))
  const hasReward = all.some(({ id }) => id === "reward")
  const main = mainIds
    .filter((id) => id !== "scores" || !hasReward)
    .flatMap((wanted) => all.find(({ id }) => (wanted.endsWith("/") ? id.startsWith(wanted) : id === wanted)) ?? [])
  const others = sections.map(({ charts, title }) => ({
    title,
    isMain: false,
    charts: charts.filter((chart) => all.includes(chart) && !main.includes(chart))
  }))
  return [{ title: "Overview", isMain: true, charts: main }, ...others].filter(({ charts }) => charts.length > 0)
}
