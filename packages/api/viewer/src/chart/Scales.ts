/** Computes the ranges of a chart's axes and their tick labels. Pure. */
import * as Format from "../ui/Format.ts"
import type { Chart } from "./Catalog.ts"
import type { Axis } from "./Curves.ts"
import { compact, quantity, type Unit } from "../ui/Quantity.ts"

/** Axis labels by unit; plain numbers use the chart's title. */
const units: { readonly [U in Exclude<Unit, "number">]: string } = {
  share: "share",
  seconds: "seconds",
  perSecond: "per second",
  nats: "nats per token",
  tokens: "tokens",
  bytes: "bytes"
}

const maxNameLength = 28

export const namesOfAxes = ({ title, unit }: Chart, axis: Axis): { readonly x: string; readonly y: string } => ({
  x: axis === "step" ? "step" : "time since the first row",
  y: unit === "number" ? (title.length > maxNameLength ? "value" : title.toLowerCase()) : units[unit]
})

/**
 * Some margin around the values, but not beyond zero unless they cross it. At least a tenth of their size: noise around
 * one height does not look like a crash. Shares end at 100%.
 */
export const rangeOfY = (min: number | null, max: number | null, unit: Unit = "number"): [number, number] => {
  if (min === null || max === null || (min === 0 && max === 0)) return [0, 1]
  const span = Math.max(max - min, Math.max(Math.abs(min), Math.abs(max)) / 10)
  const room = (span - (max - min)) / 2 + span * 0.06
  const top = max <= 0 ? Math.min(0, max + room) : max + room
  return [min >= 0 ? Math.max(0, min - room) : min - room, unit === "share" && max <= 1 ? Math.min(1, top) : top]
}

/** Tick distances in seconds: parts of minutes, hours and days. */
export const timeSteps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400].map((minutes) => minutes * 60)
)

/** Steps are integers; large times are in minutes or hours. */
export const ticksX = (splits: ReadonlyArray<number | null>, axis: Axis): Array<string> => {
  if (axis === "step") return splits.map((x) => (x !== null && Number.isInteger(x) ? compact(x) : ""))
  const last = splits.findLast((x) => x !== null) ?? 0
  const [size, unit] = last >= 7200 ? [3600, "h"] : last >= 120 ? [60, "min"] : [1, "s"]
  return splits.map((x) => (x === null ? "" : `${Format.number(x / size)} ${unit}`))
}

/** Short labels without floating-point artifacts; log axes have unlabelled ticks. */
export const ticksY = (splits: ReadonlyArray<number | null>, unit: Unit): Array<string> => {
  const isTiny = splits.every((value) => value === null || Math.abs(value) < 0.01)
  return splits.map((tick) => {
    if (tick === null) return ""
    const value = Number(tick.toPrecision(6))
    if (value === 0) return unit === "share" ? "0%" : "0"
    if (unit === "seconds" || unit === "share") return quantity(value, unit)
    return isTiny ? value.toExponential().replace("e-0", "e-") : compact(value)
  })
}
