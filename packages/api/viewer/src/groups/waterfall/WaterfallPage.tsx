/** Shows the time breakdown of a group's rollouts: all on one scale, and one of them turn by turn. */
import { useMemo, useRef } from "react"
import { duration } from "../../ui/Quantity.ts"
import { drawElements } from "../../save/ElementPicture.ts"
import { SaveMenu } from "../../save/SaveMenu.tsx"
import { Empty } from "../../ui/Note.tsx"
import type { Rollout } from "../model/Group.ts"
import { tableOf, TurnTable } from "./TurnTable.tsx"
import * as Waterfall from "./Waterfall.ts"
import "./waterfall.css"
import { Bars } from "./Bars.tsx"

/** Shows a lane for each rollout of a group on a common time scale. */
interface GroupLanesProps {
  readonly all: ReadonlyArray<Waterfall.Waterfall>
  readonly current: number
  readonly onChoose: (index: number) => void
}

/** Times in seconds, for files. */
const lanesTableOf = (all: ReadonlyArray<Waterfall.Waterfall>, kinds: ReadonlyArray<Waterfall.Kind>) => ({
  columns: ["rollout", "answered", ...kinds.map((kind) => Waterfall.titles[kind])],
  rows: all.map((own) => [
    own.index + 1,
    own.answered / 1000,
    ...kinds.map((kind) => Waterfall.total(Waterfall.spansOf(own), kind) / 1000)
  ])
})

const GroupLanes = ({ all, current, onChoose }: GroupLanesProps) => {
  const to = Math.max(...all.map((own) => own.to))
  return (
    <ul className="waterfall-lanes">
      {all.map((own) => (
        <li key={own.index} className={own.index === current ? "is-current" : undefined}>
          <button
            type="button"
            className="quiet small"
            aria-pressed={own.index === current}
            title={Waterfall.summarize(own, duration)}
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

interface WaterfallPageProps {
  readonly id: string
  /** In the order shown. */
  readonly rollouts: ReadonlyArray<Rollout>
  readonly current: Rollout
  readonly onChoose: (index: number) => void
}

export const WaterfallPage = ({ current, id, onChoose, rollouts }: WaterfallPageProps) => {
  const all = useMemo(() => Waterfall.of(rollouts), [rollouts])
  const page = useRef<HTMLDivElement>(null)
  if (all.length === 0) {
    return (
      <Empty title="No timings recorded">
        <p>Groups from other programs or earlier versions have no timings.</p>
      </Empty>
    )
  }
  const one = all.find(({ index }) => index === current.index)
  const last = Waterfall.straggler(all)
  const kinds = Waterfall.kinds.filter((kind) => all.some((own) => Waterfall.total(Waterfall.spansOf(own), kind) > 0))
  const names = { group: `times of group ${id}`, rollout: `times of rollout ${current.index + 1} of group ${id}` }
  // Lanes and turns share one legend, so the picture includes both.
  const draw = (name: string) => () => drawElements(page.current, name)
  return (
    <div className="waterfall" ref={page} tabIndex={0} role="region" aria-label="Times of the rollouts" data-scrolls>
      {all.length > 1 && (
        <section aria-labelledby="waterfall-group">
          <h2 id="waterfall-group">Group</h2>
          <p>
            {`${duration(Math.max(...all.map(({ to }) => to)) / 1000)} from start to scores.`}
            {last !== null && ` Others waited ${duration(last.millis / 1000)} for rollout ${last.index + 1}.`}
          </p>
          <GroupLanes all={all} current={current.index} onChoose={onChoose} />
          <SaveMenu name={names.group} table={() => lanesTableOf(all, kinds)} picture={draw(names.group)} />
        </section>
      )}
      <ul className="waterfall-legend" aria-label="Time categories">
        {kinds.map((kind) => (
          <li key={kind}>
            <i className={`time-${kind}`} aria-hidden="true" /> {Waterfall.titles[kind]}
          </li>
        ))}
      </ul>
      <section aria-labelledby="waterfall-rollout">
        <h2 id="waterfall-rollout">Rollout {current.index + 1}</h2>
        {one === undefined ? (
          <p className="muted">No timings recorded for this rollout.</p>
        ) : (
          <>
            <p>{Waterfall.summarize(one, duration)}</p>
            <TurnTable waterfall={one} />
            <SaveMenu name={names.rollout} table={() => tableOf(one)} picture={draw(names.rollout)} />
          </>
        )}
      </section>
    </div>
  )
}
