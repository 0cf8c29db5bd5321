/** Shows a chart's values at the crosshair, otherwise the last ones, in the legend and for screen readers. */
import type { Chart } from "./Catalog.ts"
import type * as Curves from "./Curves.ts"
import * as Line from "./Line.ts"
import { duration, quantity } from "../ui/Quantity.ts"

interface ReadoutOptions {
  /** Element with the chart's accessible name and values. */
  readonly element: HTMLElement
  readonly chart: Chart
  readonly axis: Curves.Axis
  /** Elements of the values, by curve key. */
  readonly legend: ReadonlyMap<string, HTMLElement>
  readonly position: () => HTMLElement | null
}

export interface Readout {
  readonly show: (curves: ReadonlyArray<Curves.Curve>, crosshair: number | null) => void
  readonly name: (curves: ReadonlyArray<Curves.Curve>, withoutNumber: string) => void
}

export const make = ({ axis, chart, element, legend, position }: ReadoutOptions): Readout => {
  const textAt = ({ line }: Curves.Curve, x: number | null): string => {
    const value = valueAt(line, x)
    return value === null ? "–" : quantity(value, chart.unit)
  }
  return {
    show: (curves, crosshair) => {
      for (const curve of curves) {
        const text = `${textAt(curve, crosshair)}${crosshair === null && axis === "step" ? lagOf(curve, curves) : ""}`
        const cell = legend.get(curve.entry.key)
        if (cell !== undefined && cell.textContent !== text) cell.textContent = text
      }
      const place = position()
      if (place !== null) {
        // With few measurements, the nearest one is shown with its own step.
        const [curve] = chart.kind === "points" ? curves : []
        const at = crosshair === null || curve === undefined ? undefined : Line.nearest(curve.line, crosshair)
        const position = at === undefined ? crosshair : curve!.line.xs[at]!
        place.textContent = position === null ? "" : shownPosition(position, axis)
      }
      if (crosshair === null) return
      const here = curves.map((curve) => `${curve.entry.label} ${textAt(curve, crosshair)}`)
      element.setAttribute("aria-valuenow", String(crosshair))
      element.setAttribute("aria-valuetext", `${shownPosition(crosshair, axis)}: ${here.join(", ")}`)
    },
    name: (curves, withoutNumber) => {
      const values = curves.map((curve) => `${curve.entry.label} ${textAt(curve, null)}`)
      const gaps = withoutNumber === "" ? "" : ` ${withoutNumber}.`
      element.setAttribute("aria-label", `${chart.title}, line chart. Last values: ${values.join(", ")}.${gaps}`)
    }
  }
}

/** The last value; with `x` the nearest one, unless `x` is beyond the curve's ends. */
const valueAt = (line: Line.Line, x: number | null): number | null => {
  if (line.xs.length === 0) return null
  if (x === null) return line.ys.at(-1)!
  const room = (line.xs.at(-1)! - line.xs[0]!) * 0.01
  if (x < line.xs[0]! - room || x > line.xs.at(-1)! + room) return null
  return line.ys[Line.nearest(line, x)!]!
}

/** ` at step 24` if the chart's other curves are longer, so that last values are not of the same step. */
export const lagOf = (
  { line }: Pick<Curves.Curve, "line">,
  curves: ReadonlyArray<Pick<Curves.Curve, "line">>
): string => {
  const last = line.xs.at(-1)
  return last === undefined || curves.every(({ line: { xs } }) => (xs.at(-1) ?? last) <= last) ? "" : ` at step ${last}`
}

const shownPosition = (x: number, axis: Curves.Axis): string =>
  axis === "step" ? `step ${Math.round(x)}` : `after ${duration(Math.max(0, x))}`
