/** The scores of a group as bars on one scale, best first: how many were good, and how much they differ. */
import { memo } from "react"
import { number } from "../../ui/format.ts"

/** The scale of many strips: from 0 or the lowest score to 1 or the highest. */
export interface Scale {
  readonly low: number
  readonly high: number
}

export const scaleOf = (rows: ReadonlyArray<{ readonly scores: ReadonlyArray<number> }>): Scale => {
  let low = 0
  let high = 0
  for (const { scores } of rows) {
    for (const score of scores) {
      if (score < low) low = score
      if (score > high) high = score
    }
  }
  // Scores of right and wrong would fill every bar if none was right.
  return high <= 1 && low >= -1 ? { low: low < 0 ? -1 : 0, high: 1 } : { low, high }
}

const height = 20
const longest = 112

export const ScoreStrip = memo(
  ({ scale, scores }: { readonly scores: ReadonlyArray<number>; readonly scale: Scale }) => {
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
    const shown = scores.slice(0, 32).map((score) => number(score, 3))
    const label = `${scores.length} scores: ${shown.join(", ")}${scores.length > 32 ? " and more" : ""}`
    return (
      <svg
        className="score-strip"
        viewBox={`0 0 ${longest} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <path className="score-none" d={paths.none} />
        <path className="score-above" d={paths.above} />
        <path className="score-below" d={paths.below} />
      </svg>
    )
  }
)
