/**
 * Draws the scores of a group as bars, best first. If all scores in the list are between -1 and 1, groups share one
 * scale; otherwise each group has its own, since large rewards would hide small differences.
 */
import { memo } from "react"
import { number } from "../../ui/Format.ts"

/** From 0 or the lowest score to 1 or the highest. */
export interface Scale {
  readonly low: number
  readonly high: number
}

type Scored = { readonly scores: ReadonlyArray<number> }

const rangeOf = (rows: ReadonlyArray<Scored>): Scale => {
  let low = 0
  let high = 0
  for (const { scores } of rows) {
    for (const score of scores) {
      if (score < low) low = score
      if (score > high) high = score
    }
  }
  return { low, high }
}

export const scalesOf = (rows: ReadonlyArray<Scored>): ((group: Scored) => Scale) => {
  const { high, low } = rangeOf(rows)
  // With only 0 and 1, a scale by range would fill every bar if all were wrong.
  const common = { low: low < 0 ? -1 : 0, high: 1 }
  return high <= 1 && low >= -1 ? () => common : (group) => rangeOf([group])
}

const height = 20
const longest = 112

export const ScoreStrip = memo(({ scale, scores }: Scored & { readonly scale: Scale }) => {
  const step = Math.min(7, longest / Math.max(1, scores.length))
  const bar = Math.max(0.6, step * 0.72)
  const y = (score: number) => height * (1 - (score - scale.low) / (scale.high - scale.low || 1))
  const zero = Math.min(height - 0.75, y(0))
  const paths = { above: "", below: "", none: "" }
  scores
    .toSorted((a, b) => b - a)
    .forEach((score, place) => {
      const kind = score > 0 ? "above" : score < 0 ? "below" : "none"
      const to = kind === "none" ? zero + 0.75 : y(score)
      paths[kind] +=
        `M${(place * step).toFixed(2)} ${zero.toFixed(2)}h${bar.toFixed(2)}V${to.toFixed(2)}h${(-bar).toFixed(2)}Z`
    })
  const visible = scores.slice(0, 32).map((score) => number(score, 3))
  const label = `${scores.length} scores: ${visible.join(", ")}${scores.length > 32 ? " and more" : ""}`
  const range = `bars from ${number(scale.low, 3)} to ${number(scale.high, 3)}`
  return (
    <svg
      className="score-strip"
      viewBox={`0 0 ${longest} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{`${label}; ${range}`}</title>
      <path className="score-none" d={paths.none} />
      <path className="score-above" d={paths.above} />
      <path className="score-below" d={paths.below} />
    </svg>
  )
})
