/** Prints rows of a report: name, our value, the reference's, the ratio, and the goal for the ratio. */
export interface Row {
  readonly what: string
  readonly ours: number
  readonly reference: number | undefined
  readonly unit: string
  /** Direction: rates should be larger, times smaller. */
  readonly better: "larger" | "smaller"
  /** Absent if the ratio has no goal. */
  readonly goal?: number | undefined
}

export const ratio = ({ better, ours, reference }: Row): number | undefined =>
  reference === undefined ? undefined : better === "larger" ? ours / reference : reference / ours

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

const judgement = (times: number, goal: number | undefined): string =>
  goal === undefined ? "" : ` (goal ${Number(goal.toFixed(2))}x${times >= goal ? "" : ", MISSED"})`

export const line = (row: Row): string => {
  const times = ratio(row)
  const reference = row.reference === undefined ? "-" : `${figure(row.reference)} ${row.unit}`
  const verdict = times === undefined ? "" : `${times.toFixed(times < 2 ? 2 : 1)}x${judgement(times, row.goal)}`
  return `${row.what.padEnd(58)} ${`${figure(row.ours)} ${row.unit}`.padStart(16)} ${reference.padStart(16)}   ${verdict}`
}

export const headerBeside = (reference: string): string =>
  `${"".padEnd(58)} ${"ours".padStart(16)} ${reference.padStart(16)}`

export const header = headerBeside("the original")
