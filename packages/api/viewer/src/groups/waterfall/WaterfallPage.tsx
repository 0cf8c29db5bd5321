/**
 * Where the time of a group's rollouts went: all of them on one scale, and one of them turn by turn.
 */
import { useMemo } from "react"
import { duration } from "../../run/Quantity.ts"
import { SaveMenu } from "../../save/SaveMenu.tsx"
import { Empty } from "../../ui/Note.tsx"
import type { Rollout } from "../Group.ts"
import { GroupLanes } from "./GroupLanes.tsx"
import { tableOf, TurnTable } from "./TurnTable.tsx"
import * as Waterfall from "./Waterfall.ts"
import "./waterfall.css"

interface WaterfallPageProps {
  readonly id: string
  /** In the order shown. */
  readonly rollouts: ReadonlyArray<Rollout>
  readonly current: Rollout
  readonly onChoose: (index: number) => void
}

export const WaterfallPage = ({ current, id, onChoose, rollouts }: WaterfallPageProps) => {
  const all = useMemo(() => Waterfall.of(rollouts), [rollouts])
  if (all.length === 0) {
    return (
      <Empty title="Nobody wrote down when its turns happened">
        <p>Groups that were made by another program, or by an earlier version of this one, have no times.</p>
      </Empty>
    )
  }
  const one = all.find(({ index }) => index === current.index)
  const last = Waterfall.straggler(all)
  const kinds = Waterfall.kinds.filter((kind) => all.some((own) => Waterfall.total(Waterfall.spansOf(own), kind) > 0))
  return (
    <div className="waterfall" tabIndex={0} role="region" aria-label="Times of the rollouts" data-scrolls>
      {all.length > 1 && (
        <section aria-labelledby="waterfall-group">
          <h2 id="waterfall-group">The group</h2>
          <p>
            {`${duration(Math.max(...all.map(({ to }) => to)) / 1000)} from the item's start to its scores.`}
            {last !== null && ` The others waited ${duration(last.millis / 1000)} for rollout ${last.index}.`}
          </p>
          <GroupLanes all={all} current={current.index} onChoose={onChoose} />
        </section>
      )}
      <ul className="waterfall-legend" aria-label="What the time went to">
        {kinds.map((kind) => (
          <li key={kind}>
            <i className={`time-${kind}`} aria-hidden="true" /> {Waterfall.titles[kind]}
          </li>
        ))}
      </ul>
      <section aria-labelledby="waterfall-rollout">
        <h2 id="waterfall-rollout">Rollout {current.index}</h2>
        {one === undefined ? (
          <p className="muted">Nobody wrote down when the turns of this rollout happened.</p>
        ) : (
          <>
            <p>{Waterfall.told(one, duration)}</p>
            <TurnTable waterfall={one} />
            <SaveMenu name={`times of rollout ${current.index} of group ${id}`} table={() => tableOf(one)} />
          </>
        )}
      </section>
    </div>
  )
}
