/** Prepares re-scoring results: rows, their order, and the new scores of a rollout. Pure. */
import type * as Wire from "../source/Wire.ts"

export const filters = ["changed", "higher", "lower", "not scored"] as const
export type Filter = (typeof filters)[number]

export interface Change {
  /** The first or only group. */
  readonly group: string
  readonly places: ReadonlyArray<{ readonly group: string; readonly rollout: number }>
  readonly item: string | null
  readonly label: string
  readonly before: ReadonlyArray<number>
  readonly after: ReadonlyArray<number>
  readonly components: ReadonlyArray<{
    readonly name: string
    readonly before: number | null
    readonly after: number | null
  }>
  /** Change of the mean score; 0 if not scored. */
  readonly difference: number
  readonly reason: string | null
}

const mean = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((one) => one !== null)
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length
}

export const of = (row: Wire.ReverifiedRow): Change => {
  const { after = [], before = [], components = {}, groups, item, label, reason = null } = row
  const [only] = groups
  return {
    group: only ?? "",
    places:
      groups.length === 1
        ? before.map((_, rollout) => ({ group: only!, rollout }))
        : groups.map((group) => ({ group, rollout: 0 })),
    item,
    label: label ?? item ?? "",
    before,
    after,
    components: Object.entries(components).map(([name, [old, now]]) => ({ name, before: mean(old), after: mean(now) })),
    difference: (mean(after) ?? 0) - (mean(before) ?? 0),
    reason
  }
}

/** Sum of absolute differences, so that opposite changes do not cancel. */
const size = ({ after, before }: Change): number =>
  after.reduce((sum, score, index) => sum + Math.abs(score - before[index]!), 0)

const keeps: { readonly [F in Filter]: (change: Change) => boolean } = {
  changed: ({ reason }) => reason === null,
  higher: ({ difference, reason }) => reason === null && difference > 0,
  lower: ({ difference, reason }) => reason === null && difference < 0,
  "not scored": ({ reason }) => reason !== null
}

/** Largest change first. */
export const select = (changes: ReadonlyArray<Change>, filter: Filter): ReadonlyArray<Change> =>
  changes.filter(keeps[filter]).toSorted((left, right) => size(right) - size(left))

/** The new scores of a group's rollouts; null if unchanged. */
export const scoresOf = ({ rows }: Wire.Reverified, group: string): ReadonlyArray<number> | null => {
  const row = rows.find(({ groups }) => groups.includes(group))
  if (row?.after === undefined) return null
  return row.groups.length === 1 ? row.after : row.after.slice(row.groups.indexOf(group)).slice(0, 1)
}

export const describe = ({ environment, rows, same }: Wire.Reverified): string => {
  const changes = rows.map(of)
  const changed = changes.filter(keeps.changed)
  const unscored = changes.length - changed.length
  const all = rows.length + same
  const scored = changed.flatMap(({ before }) => before)
  const now = changed.flatMap(({ after }) => after)
  const means = changed.length === 0 ? "" : ` Their mean score: ${digits(mean(scored)!)} → ${digits(mean(now)!)}.`
  const rest = unscored === 0 ? "" : ` ${unscored} could not be scored.`
  return `${changed.length} of ${all} changed with the current ${environment}.${means}${rest}`
}

const digits = (value: number): string => String(Number(value.toPrecision(3)))
