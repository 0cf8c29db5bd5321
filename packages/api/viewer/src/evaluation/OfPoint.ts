/** Which evaluation a point of a run's curves is of. Pure. */
import type * as Wire from "../source/Wire.ts"

/** Whether the metric is of evaluations. */
export const isEvaluated = (metric: string): boolean => metric.startsWith("eval/")

/**
 * The evaluation of `run` at `step`, of several the one that bears the name of the metric's source, else the newest;
 * undefined where the service has none.
 */
export const find = (
  evaluations: ReadonlyArray<Wire.EvaluationRow>,
  { run, source, step }: { readonly run: string; readonly source: string; readonly step: number }
): Wire.EvaluationRow | undefined => {
  const found = evaluations.filter((one) => one.run === run && one.step === step)
  return found.find(({ name }) => name === source || source.startsWith(`${name}_`)) ?? found[0]
}
