/** Implements the service's filters and orders for rows in memory. Pure. */
import type { Sort } from "@atropos/core/service/api/RolloutOrder"
import type * as Wire from "./Wire.ts"

type Row = Wire.RolloutRow
type Key = (row: Row) => number | string | null

const mean = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

const best = ({ scores }: Row): number | null => (scores.length === 0 ? null : Math.max(...scores))

const deviation = ({ scores }: Row): number | null => {
  const center = mean(scores)
  return center === null ? null : Math.sqrt(mean(scores.map((score) => (score - center) ** 2)) ?? 0)
}

/** The prompt replaces a missing item id. */
export const itemOf = ({ figures, item_id }: Row): string | null => item_id ?? figures?.prompt ?? null

const states: ReadonlyArray<Row["state"]> = ["buffered", "queued", "formed", "leased", "consumed"]

/** Values that can be both sorted and bounded. */
const measured: { readonly [S in "deviation" | "disagreement" | "length" | "staleness"]: (row: Row) => number | null } =
  {
    deviation,
    disagreement: ({ scores }) => (scores.length === 0 ? null : Math.max(...scores) - Math.min(...scores)),
    length: ({ figures, sequences, tokens }) => figures?.length ?? tokens / Math.max(1, sequences),
    staleness: ({ policy_step, step }) => (step === null || policy_step === null ? null : step - policy_step)
  }

const keys: { readonly [S in Exclude<Sort, "component">]: Key } = {
  ...measured,
  mean: ({ scores }) => mean(scores),
  best,
  longest_best: ({ figures }) => figures?.longest_best ?? null,
  truncated: ({ figures }) => figures?.truncated ?? null,
  tool_errors: ({ figures }) => figures?.tool_errors ?? null,
  surprise: ({ figures }) => figures?.surprise ?? null,
  surprise_best: ({ figures }) => figures?.surprise_best ?? null,
  state: ({ state }) => states.indexOf(state),
  item: itemOf
}

/** True if a value is within the given bounds; an unknown value only if none. */
const isWithin = (value: number | null, from: number | undefined, to: number | undefined): boolean =>
  (from === undefined || (value !== null && value >= from)) && (to === undefined || (value !== null && value <= to))

/** Ids of the groups that first solved their item after others did not; `rows` are newest first. */
const newlySolved = (rows: ReadonlyArray<Row>): ReadonlySet<string> => {
  const before = new Map<string, number>()
  const found = new Set<string>()
  for (const row of rows.toReversed()) {
    const own = best(row)
    const known = itemOf(row)
    if (own === null || known === null) continue
    const item = JSON.stringify([row.env_id, known])
    const earlier = before.get(item)
    if (own > 0 && earlier !== undefined && earlier <= 0) found.add(row.id)
    before.set(item, Math.max(own, earlier ?? own))
  }
  return found
}

/** True if one of its rollouts has such a value; advantages are unknown for rows. */
const hasValue = ({ figures, scores }: Row, query: Wire.RolloutQuery): boolean => {
  const { value, value_below = Infinity, value_from = -Infinity, value_to = Infinity } = query
  if (value === undefined) return true
  const values = value === "score" ? scores : value === "length" ? (figures?.lengths ?? []) : []
  return values.some((one) => one >= value_from && one < value_below && one <= value_to)
}

const compare = (left: number | string, right: number | string): number => (left < right ? -1 : left > right ? 1 : 0)

/** The rows matching a query except for its text, in its order. */
export const select = (rows: ReadonlyArray<Row>, query: Wire.RolloutQuery): ReadonlyArray<Row> => {
  const { component, environment, item, score_from, score_to, sort, state, step_from, step_to } = query
  const componentOf: Key = ({ figures }) => (component === undefined ? null : (figures?.components[component] ?? null))
  const solved = query.newly_solved === undefined ? null : newlySolved(rows)
  const found = rows.filter(
    (row) =>
      (environment === undefined || row.environment === environment) &&
      (state === undefined || row.state === state) &&
      (item === undefined || row.item_id === item || row.figures?.prompt === item) &&
      isWithin(row.step, step_from, step_to) &&
      isWithin(mean(row.scores), score_from, score_to) &&
      isWithin(best(row), query.best_from, query.best_to) &&
      isWithin(measured.disagreement(row), query.disagreement_from, query.disagreement_to) &&
      isWithin(measured.deviation(row), query.deviation_from, query.deviation_to) &&
      isWithin(measured.length(row), query.length_from, query.length_to) &&
      isWithin(measured.staleness(row), query.staleness_from, query.staleness_to) &&
      (component === undefined ||
        isWithin(row.figures?.components[component] ?? null, query.component_from, query.component_to)) &&
      hasValue(row, query) &&
      (query.truncated === undefined || (row.figures?.truncated ?? 0) > 0) &&
      (query.tool_errors === undefined || (row.figures?.tool_errors ?? 0) > 0) &&
      (solved === null || solved.has(row.id))
  )
  if (sort === undefined || (sort === "component" && component === undefined)) return found
  const keyOf = sort === "component" ? componentOf : keys[sort]
  const sign = query.order === "ascending" ? 1 : -1
  const keyed = found.map((row) => ({ row, key: keyOf(row) }))
  return keyed
    .sort((left, right) =>
      left.key === null || right.key === null
        ? Number(left.key === null) - Number(right.key === null)
        : sign * compare(left.key, right.key)
    )
    .map(({ row }) => row)
}
