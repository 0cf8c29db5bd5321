/** Formats the title of an evaluation. */
import type * as Wire from "../source/Wire.ts"
import { time } from "../ui/Format.ts"

type Row = Wire.EvaluationRow

/** `gsm8k, my-run at step 40`. */
export const titleOf = ({ at, model, name, run, step }: Row): string => {
  const where = [run ?? model, step === null ? "" : `step ${step}`].filter((word) => word !== "").join(" at ")
  return where === "" ? `${name}, ${time(at)}` : `${name}, ${where}`
}

export const titlesOf = (before: Row, after: Row | undefined): string =>
  after === undefined ? titleOf(before) : `${titleOf(before)} and ${titleOf(after)}`

const finite = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? value : null

/** A recorded metric by its name in `docs/metrics.md`, without `eval/`. */
export const figureOf = ({ figures }: Pick<Row, "figures">, name: string): number | null =>
  finite(figures[`eval/${name}`])
