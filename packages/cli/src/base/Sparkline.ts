import { Evaluation } from "@atropos/core"

const bars = "▁▂▃▄▅▆▇█"

/** Renders values as a line of block characters, scaled from 0 to 1, or from min to max if values exceed that range. */
export const of = (values: ReadonlyArray<number>, width = 48): string => {
  const columns = Math.min(width, values.length)
  const means = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns)
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns))
    return Evaluation.mean(values.slice(from, to))
  })
  const [lowest, highest] = [Math.min(...means), Math.max(...means)]
  const [floor, ceiling] = lowest >= 0 && highest <= 1 ? [0, 1] : [lowest, highest]
  const range = ceiling > floor ? ceiling - floor : 1
  return means.map((mean) => bars[Math.round(((mean - floor) / range) * (bars.length - 1))]).join("")
}
