/** Defines the view settings of the run page and their address parameters, so that a link reproduces the view. Pure. */
import type { Axis } from "./Curves.ts"

export interface PageView {
  readonly others: ReadonlyArray<string>
  readonly axis: Axis
  /** 0 to 0.99. */
  readonly smoothing: number
  readonly isLogX: boolean
  readonly isLogY: boolean
  /** Zoomed range of x; null: everything. */
  readonly range: readonly [number, number] | null
}

export const greatestSmoothing = 0.99

export const read = (search: URLSearchParams): PageView => {
  const from = numberOf(search.get("from"))
  const to = numberOf(search.get("to"))
  const smoothing = numberOf(search.get("smooth")) ?? 0
  return {
    others: search.getAll("with").flatMap((names) => names.split(",").filter((name) => name !== "")),
    axis: search.get("x") === "time" ? "time" : "step",
    smoothing: Math.min(greatestSmoothing, Math.max(0, smoothing)),
    isLogX: search.get("log")?.includes("x") ?? false,
    isLogY: search.get("log")?.includes("y") ?? false,
    range: from !== null && to !== null && from < to ? [from, to] : null
  }
}

/** The address parameters of a view; null removes one. */
export const write = (view: PageView): { readonly [name: string]: string | number | null } => ({
  with: view.others.join(",") || null,
  x: view.axis === "time" ? "time" : null,
  smooth: view.smoothing || null,
  log: `${view.isLogX ? "x" : ""}${view.isLogY ? "y" : ""}` || null,
  from: view.range === null ? null : short(view.range[0]),
  to: view.range === null ? null : short(view.range[1])
})

const short = (value: number): number => Number(value.toPrecision(7))

const numberOf = (text: string | null): number | null => {
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : null
}
