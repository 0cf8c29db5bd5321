/** Finds the evaluation behind a point of a run's curves. Pure. */
import type * as Wire from "../source/Wire.ts"

export const isEvaluated = (metric: string): boolean => metric.startsWith("eval/")

/**
 * The evaluation of `run` at `step`; of several the one named like the metric's source, otherwise the newest; undefined
 * if the service has none.
 */
export const find = (
  evaluations: ReadonlyArray<Wire.EvaluationRow>,
  { run, source, step }: { readonly run: string; readonly source: string; readonly step: number }
): Wire.EvaluationRow | undefined => {
  const found = evaluations.filter((one) => one.run === run && one.step === step)
  return found.find(({ name }) => name === source || source.startsWith(`${name}_`)) ?? found[0]
}
