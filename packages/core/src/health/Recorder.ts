/** Stores the recorded metrics of a run in the form that health rules read. */
import type { Recorded } from "./Series.ts"

export interface Recorder {
  readonly recorded: Recorded
  /** Adds the metrics of a source (`trainer`, an environment) for a step; a repeated step replaces the earlier one. */
  readonly see: (source: string, step: number, values: { readonly [name: string]: number }) => void
}

interface Column {
  readonly steps: Array<number>
  readonly values: Array<number>
}

export const make = (): Recorder => {
  const metrics = new Map<string, Map<string, Column>>()
  const columnOf = (metric: string, source: string): Column => {
    const sources = metrics.get(metric) ?? new Map<string, Column>()
    metrics.set(metric, sources)
    const column = sources.get(source) ?? { steps: [], values: [] }
    sources.set(source, column)
    return column
  }
  return {
    recorded: {
      names: () => [...metrics.keys()],
      sourcesOf: (metric) => [...(metrics.get(metric)?.keys() ?? [])],
      points: (source, metric) => metrics.get(metric)?.get(source) ?? { steps: [], values: [] }
    },
    see: (source, step, reported) => {
      for (const [metric, value] of Object.entries(reported)) {
        const { steps, values } = columnOf(metric, source)
        while (steps.length > 0 && steps.at(-1)! >= step) {
          steps.pop()
          values.pop()
        }
        steps.push(step)
        values.push(value)
      }
    }
  }
}
