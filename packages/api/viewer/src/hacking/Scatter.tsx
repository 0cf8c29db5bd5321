/** Plots length against score of single rollouts: first steps in a pale colour, last steps in a strong one. */
import { useRef } from "react"
import { drawElements } from "../save/ElementPicture.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"
import { count, number } from "../ui/Format.ts"

type Pairs = ReadonlyArray<readonly [length: number, score: number]>

const [width, height, left, bottom, room] = [520, 260, 52, 40, 10]

const ticksOf = (low: number, high: number, max: number): ReadonlyArray<number> => {
  const rough = (high - low) / max || 1
  const size = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].find((factor) => factor * size >= rough)! * size
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.max(1, Math.floor(high / step) - first + 1) }, (_, at) => (first + at) * step)
}

const name = "Length vs score"

const tableOf = (early: Pairs, late: Pairs) => ({
  columns: ["part", "length", "score"],
  rows: [...early.map((pair) => ["first third", ...pair]), ...late.map((pair) => ["last third", ...pair])]
})

export const Scatter = ({ early, late }: { readonly early: Pairs; readonly late: Pairs }) => {
  const figure = useRef<HTMLElement>(null)
  const all = [...early, ...late]
  const [lengths, scores] = [all.map(([length]) => length), all.map(([, score]) => score)]
  const max = Math.max(1, ...lengths)
  const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)]
  const x = (length: number) => left + (length / max) * (width - left - room)
  const y = (score: number) => room + (1 - (score - low) / (high - low || 1)) * (height - bottom - room)
  const dots = (pairs: Pairs) =>
    pairs.map(([length, score]) => `M${x(length).toFixed(1)} ${y(score).toFixed(1)}h.01`).join("")
  return (
    <figure className="scatter" ref={figure}>
      <figcaption>
        <h3 data-no-picture="">{name}</h3>
        <p className="chart-help">
          One dot per rollout: <span className="scatter-early">pale</span> in the first third of the groups,{" "}
          <span className="scatter-late">strong</span> in the last.
        </p>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Length vs score of ${count(all.length)} rollouts: lengths up to ${count(max)} tokens, scores from ${number(low)} to ${number(high)}`}
      >
        {ticksOf(0, max, 5).map((tick) => (
          <g key={tick}>
            <path className="scatter-grid" d={`M${x(tick)} ${room}V${height - bottom}`} />
            <text x={x(tick)} y={height - bottom + 15} textAnchor="middle">
              {count(tick)}
            </text>
          </g>
        ))}
        {ticksOf(low, high, 4).map((tick) => (
          <g key={tick}>
            <path className="scatter-grid" d={`M${left} ${y(tick)}H${width - room}`} />
            <text x={left - 6} y={y(tick) + 4} textAnchor="end">
              {number(tick, 3)}
            </text>
          </g>
        ))}
        <text x={(left + width) / 2} y={height - 6} textAnchor="middle">
          trained tokens
        </text>
        <text transform={`translate(14 ${(height - bottom) / 2}) rotate(-90)`} textAnchor="middle">
          score
        </text>
        <path className="scatter-dots early" d={dots(early)} />
        <path className="scatter-dots late" d={dots(late)} />
      </svg>
      <div className="table-foot">
        <SaveMenu name={name} table={() => tableOf(early, late)} picture={() => drawElements(figure.current, name)} />
      </div>
    </figure>
  )
}
