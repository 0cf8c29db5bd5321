/** Shows a lane for each rollout of a group on a common time scale. */
import { duration } from "../../ui/Quantity.ts"
import { Bars } from "./Bars.tsx"
import * as Waterfall from "./Waterfall.ts"

interface GroupLanesProps {
  readonly all: ReadonlyArray<Waterfall.Waterfall>
  readonly current: number
  readonly onChoose: (index: number) => void
}

/** Times in seconds, for files. */
export const tableOf = (all: ReadonlyArray<Waterfall.Waterfall>, kinds: ReadonlyArray<Waterfall.Kind>) => ({
  columns: ["rollout", "answered", ...kinds.map((kind) => Waterfall.titles[kind])],
  rows: all.map((own) => [
    own.index + 1,
    own.answered / 1000,
    ...kinds.map((kind) => Waterfall.total(Waterfall.spansOf(own), kind) / 1000)
  ])
})

export const GroupLanes = ({ all, current, onChoose }: GroupLanesProps) => {
  const to = Math.max(...all.map((own) => own.to))
  return (
    <ul className="waterfall-lanes">
      {all.map((own) => (
        <li key={own.index} className={own.index === current ? "is-current" : undefined}>
          <button
            type="button"
            className="quiet small"
            aria-pressed={own.index === current}
            title={Waterfall.told(own, duration)}
            onClick={() => onChoose(own.index)}
          >
            rollout {own.index + 1}
          </button>
          <Bars spans={Waterfall.spansOf(own)} to={to} />
          <span className="number muted">{duration(own.answered / 1000)}</span>
        </li>
      ))}
    </ul>
  )
}
