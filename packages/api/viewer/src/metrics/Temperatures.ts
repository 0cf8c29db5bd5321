/** Determines the sampling temperatures of training and evaluation. Pure. */
import type { MetricTable } from "./MetricTable.ts"

type Tables = ReadonlyArray<{ readonly table: MetricTable }>

/** `, sampled at temperature 0; training samples at 1`: shares of the two are not comparable. */
export const sampledAt = (runs: Tables): string => {
  const [evaluated, trained] = ["eval/temperature", "train/temperature"].map((name) => temperatureOf(runs, name))
  if (evaluated === undefined) return ""
  return `, sampled at temperature ${evaluated}${trained === undefined ? "" : `; training samples at ${trained}`}`
}

/** The last recorded value, if equal in all runs and sources. */
export const temperatureOf = (runs: Tables, name: string): number | undefined => {
  const all = new Set(
    runs.flatMap(({ table }) => table.sourcesOf(name).map((source) => table.points(source, name).values.at(-1)!))
  )
  return all.size === 1 ? [...all][0] : undefined
}
