/** Converts the recorded values of a chart to a table: a row per step or second, a column per curve. Pure. */
import type { Chart } from "./Catalog.ts"
import * as Curves from "./Curves.ts"
import type * as Save from "../save/Save.ts"

export const of = (chart: Chart, entries: ReadonlyArray<Curves.Entry>, axis: Curves.Axis): Save.Table => {
  const curves = Curves.draw({ ...chart, kind: "lines" }, entries, { axis, smoothing: 0 })
  const values = curves.map(({ line }) => new Map(Array.from(line.xs, (x, at) => [x, line.ys[at]!])))
  const xs = [...new Set(values.flatMap((one) => [...one.keys()]))].sort((left, right) => left - right)
  return {
    columns: [axis === "step" ? "step" : "seconds", ...curves.map(({ entry }) => entry.label)],
    rows: xs.map((x) => [x, ...values.map((one) => one.get(x) ?? null)])
  }
}
