/** Computes the cells of a distribution: positions, descriptions, and filters for the groups behind them. Pure. */
import * as Guilty from "../health/Guilty.ts"
import * as Filter from "../query/Filter.ts"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"

export type Measure = Wire.DistributionQuery["measure"]

export interface Cell {
  /** Index of its column, and of its bin from the bottom. */
  readonly column: number
  readonly bin: number
}

export interface Bounds {
  readonly from: number
  readonly to: number
}

export const boundsOf = ({ bins, high, low }: Wire.Distribution, bin: number): Bounds => ({
  from: low + (bin * (high - low)) / bins,
  to: bin === bins - 1 ? high : low + ((bin + 1) * (high - low)) / bins
})

const sum = (counts: ReadonlyArray<number>): number => counts.reduce((all, count) => all + count, 0)

/** Share of the rollouts of its column, 0 to 1. */
export const shareOf = ({ columns }: Wire.Distribution, { bin, column }: Cell): number => {
  const counts = columns[column]?.counts ?? []
  return (counts[bin] ?? 0) / Math.max(1, sum(counts))
}

/** The share with the strongest colour. */
export const largestShare = (distribution: Wire.Distribution): number =>
  Math.max(0, ...distribution.columns.map(({ counts }) => Math.max(0, ...counts) / Math.max(1, sum(counts))))

export const stepsOf = ({ from, to }: Pick<Wire.Distribution["columns"][number], "from" | "to">): string =>
  from === to ? `step ${Format.count(from)}` : `steps ${Format.count(from)} to ${Format.count(to)}`

/** `step 40: 12 of 64 rollouts have a score from 0.5 to 0.54` */
export const words = (distribution: Wire.Distribution, measure: Measure, { bin, column }: Cell): string => {
  const one = distribution.columns[column]
  if (one === undefined) return ""
  const { from, to } = boundsOf(distribution, bin)
  const value = from === to ? Format.number(from) : `from ${Format.number(from)} to ${Format.number(to)}`
  const count = one.counts[bin] ?? 0
  return `${stepsOf(one)}: ${Format.count(count)} of ${Format.plural(sum(one.counts), "rollout")} ${count === 1 ? "has" : "have"} ${measure === "score" ? "a score" : measure === "length" ? "a length" : "an advantage"} ${value}`
}

const within = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value))

/** The cell an arrow key moves to; undefined for other keys. */
export const moved = ({ bins, columns }: Wire.Distribution, { bin, column }: Cell, key: string): Cell | undefined => {
  switch (key) {
    case "ArrowLeft":
    case "ArrowRight":
      return { bin, column: within(column + (key === "ArrowLeft" ? -1 : 1), columns.length) }
    case "ArrowUp":
    case "ArrowDown":
      return { bin: within(bin + (key === "ArrowUp" ? 1 : -1), bins), column }
    case "Home":
      return { bin, column: 0 }
    case "End":
      return { bin, column: columns.length - 1 }
    default:
      return undefined
  }
}

/** Empty cells open nothing. */
export const isEmpty = ({ columns }: Wire.Distribution, { bin, column }: Cell): boolean =>
  (columns[column]?.counts[bin] ?? 0) === 0

/** The groups behind a cell: those of its steps with a rollout in it, most relevant first. */
export const filterOf = (
  distribution: Wire.Distribution,
  measure: Measure,
  { bin, column }: Cell,
  environment: string | null
): Filter.Filter => {
  const { bins, columns } = distribution
  const { from, to } = boundsOf(distribution, bin)
  const isLast = bin === bins - 1
  const isUpper = bin >= bins / 2
  return {
    ...Filter.none,
    environment,
    stepFrom: columns[column]!.from,
    stepTo: columns[column]!.to,
    value: measure,
    valueFrom: from,
    // If all values are equal, the first bin has them all.
    valueBelow: isLast || from === to ? null : to,
    valueTo: isLast || from === to ? to : null,
    ...(measure === "length" && { sort: "length", isAscending: !isUpper }),
    ...(measure === "advantage" && { sort: "deviation", isAscending: false }),
    ...(measure === "score" && { sort: isUpper ? "best" : "mean", isAscending: true })
  }
}

export const address = (run: string, ...of: Parameters<typeof filterOf>): string => Guilty.address(run, filterOf(...of))

export const table = (distribution: Wire.Distribution) => ({
  columns: ["step_from", "step_to", "from", "to", "rollouts"],
  rows: distribution.columns.flatMap(({ counts, from, to }) =>
    counts.flatMap((count, bin) => {
      const bounds = boundsOf(distribution, bin)
      return count === 0 ? [] : [[from, to, bounds.from, bounds.to, count]]
    })
  )
})
