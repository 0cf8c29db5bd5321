/**
 * Draws the scores of a group, best first: few of 0 to 1 as dots, others as bars. If all scores in the list are between
 * -1 and 1, groups share one scale; otherwise each group has its own, since large rewards would hide small differences.
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
const maxDots = 16

/** Paths by sign, and the dots' outlines. */
interface Drawing {
  readonly above: string
  readonly below: string
  readonly none: string
  readonly outline: string
}

const bars = (sorted: ReadonlyArray<number>, scale: Scale): Drawing => {
  const step = Math.min(7, longest / Math.max(1, sorted.length))
  const bar = Math.max(0.6, step * 0.72)
  const y = (score: number) => height * (1 - (score - scale.low) / (scale.high - scale.low || 1))
  const zero = Math.min(height - 0.75, y(0))
  const paths = { above: "", below: "", none: "", outline: "" }
  sorted.forEach((score, place) => {
    const kind = score > 0 ? "above" : score < 0 ? "below" : "none"
    const to = kind === "none" ? zero + 0.75 : y(score)
    paths[kind] +=
      `M${(place * step).toFixed(2)} ${zero.toFixed(2)}h${bar.toFixed(2)}V${to.toFixed(2)}h${(-bar).toFixed(2)}Z`
  })
  return paths
}

const circle = (x: number, radius: number): string =>
  `M${(x - radius).toFixed(2)} ${height / 2}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0Z`

/** Circles, filled from below by the score's share of 1. */
const dots = (sorted: ReadonlyArray<number>): Drawing => {
  const step = Math.min(12, longest / sorted.length)
  const radius = step * 0.4
  let [above, outline] = ["", ""]
  sorted.forEach((score, place) => {
    const x = place * step + step / 2
    outline += circle(x, radius)
    const level = radius * (1 - 2 * score)
    const half = Math.sqrt(radius ** 2 - level ** 2)
    const y = (height / 2 + level).toFixed(2)
    if (score === 1) above += circle(x, radius)
    else if (score > 0)
      above += `M${(x - half).toFixed(2)} ${y}A${radius} ${radius} 0 ${score > 0.5 ? 1 : 0} 0 ${(x + half).toFixed(2)} ${y}Z`
  })
  return { above, below: "", none: "", outline }
}

export const ScoreStrip = memo(({ scale, scores }: Scored & { readonly scale: Scale }) => {
  const sorted = scores.toSorted((a, b) => b - a)
  const isDotted = scale.low === 0 && scale.high === 1 && scores.length <= maxDots
  const paths = isDotted ? dots(sorted) : bars(sorted, scale)
  const visible = scores.slice(0, 32).map((score) => number(score, 3))
  const label = `${scores.length} scores: ${visible.join(", ")}${scores.length > 32 ? " and more" : ""}`
  const range = `${isDotted ? "dots" : "bars"} from ${number(scale.low, 3)} to ${number(scale.high, 3)}`
  return (
    <svg
      className="score-strip"
      viewBox={`0 0 ${longest} ${height}`}
      preserveAspectRatio={isDotted ? "xMinYMid meet" : "none"}
      role="img"
      aria-label={label}
    >
      <title>{`${label}; ${range}`}</title>
      <path className="score-none" d={paths.none} />
      <path className="score-above" d={paths.above} />
      <path className="score-below" d={paths.below} />
      <path className="score-outline" d={paths.outline} />
    </svg>
  )
})
