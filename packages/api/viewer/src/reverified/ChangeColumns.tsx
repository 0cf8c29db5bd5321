/** Defines the columns of the table of old and new scores. */
import { Link } from "wouter"
import { groupPath } from "../route/Location.ts"
import type { Column } from "../ui/DataTable.tsx"
import { number } from "../ui/Format.ts"
import { Signed } from "../groups/RolloutHead.tsx"
import type { Change } from "../metrics/Changes.ts"

const listed = (scores: ReadonlyArray<number>): string => scores.map((score) => number(score)).join(" ")

const longest = 120

const short = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

const place = (run: string): Column<Change> => ({
  id: "group",
  title: "Group",
  value: ({ group }) => group,
  cell: ({ group }) => <Link href={groupPath(run, group)}>group {group}</Link>
})

const item: Column<Change> = {
  id: "item",
  title: "Item",
  value: ({ label }) => label,
  cell: ({ label }) => <span className="reverified-item">{short(label)}</span>
}

const Scores = ({ change, run }: { readonly change: Change; readonly run: string }) => {
  const { after, before, places } = change
  const changed = after.flatMap((now, index) => (now === before[index] ? [] : [{ index, now, old: before[index]! }]))
  const same = after.length - changed.length
  return (
    <ul className="reverified-scores">
      {changed.map(({ index, now, old }) => {
        const { group, rollout } = places[index]!
        return (
          <li key={index} className="number">
            <Link
              href={groupPath(run, group, { rollout })}
              aria-label={`${number(old)} → ${number(now)}, rollout ${rollout + 1} of group ${group}`}
            >
              {number(old)} → {number(now)}
            </Link>
          </li>
        )
      })}
      {same > 0 && <li className="muted">{`${same} unchanged`}</li>}
    </ul>
  )
}

const Parts = ({ components }: Change) => (
  <ul className="reverified-scores">
    {components.map(({ after, before, name }) => (
      <li key={name} title="Mean over the rollouts">
        {name} {before === null ? "none" : number(before, 3)} → {after === null ? "none" : number(after, 3)}
      </li>
    ))}
  </ul>
)

const parts: Column<Change> = {
  id: "components",
  title: "Components",
  value: ({ components }) => components.map(({ name }) => name).join(", ") || null,
  cell: (change) => <Parts {...change} />
}

/** Reasons, or scores; components if some changed. */
export const columnsOf = (
  run: string,
  { hasComponents, isUnscored }: { readonly isUnscored: boolean; readonly hasComponents: boolean }
): ReadonlyArray<Column<Change>> =>
  isUnscored
    ? [
        place(run),
        item,
        {
          id: "reason",
          title: "Reason",
          value: ({ reason }) => reason,
          cell: ({ reason }) => <span className="reverified-item">{reason}</span>
        }
      ]
    : [
        place(run),
        item,
        {
          id: "scores",
          title: "Scores",
          value: ({ after, before }) => `${listed(before)} → ${listed(after)}`,
          cell: (change) => <Scores change={change} run={run} />
        },
        {
          id: "difference",
          title: "Mean",
          isNumber: true,
          value: ({ difference }) => difference,
          cell: ({ difference }) => <Signed value={difference} />
        },
        ...(hasComponents ? [parts] : [])
      ]
