/** Draws a small curve without axes. Decorative: the page has its values as text and in a chart. */
import { type ReactNode, useMemo } from "react"

const width = 160
const height = 36
/** Max points: one for every other pixel. */
const maxPoints = width / 2

/** Means of equally long parts, as coordinates of a polyline. */
const coordinates = (values: Float64Array): string => {
  const count = Math.min(maxPoints, values.length)
  const means = Array.from({ length: count }, (_, at) => {
    const part = values.subarray((at * values.length) / count, ((at + 1) * values.length) / count)
    return part.reduce((sum, value) => sum + value, 0) / part.length
  })
  const [min, max] = [Math.min(...means), Math.max(...means)]
  const y = (mean: number) => (max === min ? height / 2 : height - 2 - ((mean - min) / (max - min)) * (height - 4))
  return means.map((mean, at) => `${((at / (count - 1)) * width).toFixed(1)},${y(mean).toFixed(1)}`).join(" ")
}

export const TileCurve = ({ values }: { readonly values: Float64Array }): ReactNode => {
  const points = useMemo(() => (values.length < 2 ? null : coordinates(values)), [values])
  if (points === null) return null
  return (
    <svg className="tile-curve" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}
