/**
 * Decides which charts become small multiples: one facet per environment if several runs have several environments, or
 * if a chart would have too many curves; one per trace if runs of a single environment would. Within facets a run has
 * its colour, a trace its dashes. Pure.
 */
import type { Chart } from "./Catalog.ts"
import { type Entry, unnamed } from "./Curves.ts"

export interface Facet {
  /** An environment or a trace. */
  readonly name: string
  /** Curves with equal labels look alike in all facets. */
  readonly entries: ReadonlyArray<Entry>
}

const maxCurves = 6

const distinct = (values: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(values)]

/** The facets of a chart by its curves (`Curves.layout`); null for a single chart. */
export const of = (
  chart: Pick<Chart, "kind" | "traces">,
  entries: ReadonlyArray<Entry>
): ReadonlyArray<Facet> | null => {
  if (chart.kind === "stacked") return null
  const sources = distinct(entries.map(({ source }) => source))
  const traces = distinct(entries.map(({ trace }) => trace.label))
  const runs = distinct(entries.map(({ run }) => run.name))
  const isCrowded = entries.length > maxCurves
  if (sources.filter((source) => !unnamed.has(source)).length > 1) {
    if (runs.length === 1 && !isCrowded) return null
    return sources.map((name) => ({
      name,
      entries: entries.filter(({ source }) => source === name).map((entry) => restyled(entry, { runs, traces }))
    }))
  }
  if (runs.length === 1 || traces.length === 1 || !isCrowded) return null
  return traces.map((name) => ({
    name,
    entries: entries
      .filter(({ trace }) => trace.label === name)
      .map((entry) => restyled(entry, { runs, traces: [name] }))
  }))
}

/** Restyles an entry to be distinct within its facet. */
const restyled = (
  entry: Entry,
  { runs, traces }: { readonly runs: ReadonlyArray<string>; readonly traces: ReadonlyArray<string> }
): Entry => {
  const { run, trace } = entry
  const place = traces.indexOf(trace.label)
  const names = [...(runs.length > 1 ? [run.name] : []), ...(traces.length > 1 ? [trace.label] : [])]
  return {
    ...entry,
    label: names.length === 0 ? trace.label : names.join(" · "),
    tone: runs.length > 1 ? run.tone : place,
    dash: runs.length > 1 ? place : 0
  }
}
