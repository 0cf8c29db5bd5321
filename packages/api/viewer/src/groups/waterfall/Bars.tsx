/** Draws time spans as bars; their text is next to them. */
import { duration } from "../../ui/Quantity.ts"
import { type Span, ticks, titles } from "./Waterfall.ts"

const height = 14
const width = 1000
/** Min width, so that short spans stay visible. */
const min = 1.5

/** From 0 to `to`. */
export const Bars = ({ spans, to }: { readonly spans: ReadonlyArray<Span>; readonly to: number }) => {
  const x = (at: number) => (width * at) / (to || 1)
  return (
    <svg
      className="waterfall-bars"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <path
        className="waterfall-ticks"
        d={ticks(to, 8)
          .map((at) => `M${x(at)} 0V${height}`)
          .join("")}
      />
      {spans.map(({ from, kind, to: end }) => (
        <rect
          key={`${kind} ${from}`}
          className={`time-${kind}`}
          x={x(from)}
          y={1}
          width={Math.max(min, x(end) - x(from))}
          height={height - 2}
        >
          <title>{`${titles[kind]}: ${duration((end - from) / 1000)}`}</title>
        </rect>
      ))}
    </svg>
  )
}
