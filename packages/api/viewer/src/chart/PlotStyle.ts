/** Defines colours and dashes of charts. */
import type { Entry } from "./Curves.ts"

export interface PlotStyle {
  /** Colours of curves, as `rgb(1, 2, 3)`. */
  readonly series: ReadonlyArray<string>
  readonly text: string
  readonly grid: string
  readonly surface: string
  readonly broken: string
  readonly suspect: string
}

export interface Mark {
  readonly x: number
  readonly severity: "broken" | "suspect"
}

const dashes: ReadonlyArray<Array<number>> = [[], [6, 4], [2, 3], [10, 3, 2, 3], [14, 4], [4, 2, 1, 2]]

export const dashOf = (entry: Entry): Array<number> => dashes[entry.dash % dashes.length]!
export const colorOf = (entry: Entry, series: ReadonlyArray<string>): string => series[entry.tone % series.length]!
