/**
 * Reads the results of runs for a list: the mean reward of the last steps, the held-out score, the time of the last
 * step. Loads a few rows of metrics per run, not all of them.
 */
import { figureOf } from "../evaluation/Title.ts"
import * as MetricTable from "../metrics/MetricTable.ts"
import type { Source } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import * as Headline from "./Headline.ts"
import * as HeldOut from "./HeldOut.ts"

export interface RunResult {
  /** Mean over the last steps. */
  readonly reward: number | null
  readonly heldOut: HeldOut.HeldOut | null
  /** The last recorded step of the trainer, in milliseconds since the epoch. */
  readonly updatedAt: number | null
}

export type RunResults = ReadonlyMap<string, RunResult>

export const unknown: RunResult = { reward: null, heldOut: null, updatedAt: null }

/** `current_step` counts formed batches, which the trainer may lag behind. */
const margin = 2

export const load = async (
  source: Source,
  runs: ReadonlyArray<Pick<Wire.Run, "current_step" | "name">>,
  signal: AbortSignal
): Promise<RunResults> => {
  const [evaluations, ...pages] = await Promise.all([
    source.evaluations(signal),
    ...runs.map(({ current_step, name }) => {
      const from_step = Math.max(0, current_step + 1 - margin * Headline.recentSteps)
      return source.metrics(name, { source: "trainer", from_step }, signal)
    })
  ])
  return new Map(
    runs.map(({ name }, at) => [
      name,
      of(
        pages[at]?.metrics ?? [],
        evaluations.filter(({ run }) => run === name)
      )
    ])
  )
}

/** Of the trainer's last rows, and the run's evaluations. */
export const of = (
  rows: ReadonlyArray<Wire.MetricsRow>,
  evaluations: ReadonlyArray<Pick<Wire.EvaluationRow, "at" | "figures" | "name" | "step">>
): RunResult => {
  const { steps, values } = HeldOut.finiteOf(MetricTable.make(rows), "trainer", "reward/mean")
  const last = values.subarray(-Headline.recentSteps)
  const evaluated = evaluations
    .filter((row) => row.step !== null && figureOf(row, "percent_correct") !== null)
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, figures, name, step }) => ({ source: name, step: step ?? 0, at, values: figures }))
  return {
    reward: steps.length === 0 ? null : last.reduce((sum, value) => sum + value, 0) / last.length,
    heldOut: HeldOut.latest(MetricTable.make(evaluated)),
    updatedAt: rows.reduce((latest: number | null, { at }) => Math.max(latest ?? at, at), null)
  }
}
