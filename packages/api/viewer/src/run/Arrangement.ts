/**
 * Orders the charts of the run page by importance: the main charts first, then the sections. Each chart appears once,
 * and redundant ones are dropped. Pure.
 */
import type { Chart, Section } from "../chart/Catalog.ts"
import type { RunData } from "../chart/Curves.ts"

export interface Arranged extends Section {
  readonly isMain: boolean
}

/** In this order; only the first chart of evaluations. */
const mainIds: ReadonlyArray<string> = ["reward", "scores", "eval/", "kl", "entropy", "lengths"]

/** With a single environment its scores duplicate the trainer's reward. */
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
