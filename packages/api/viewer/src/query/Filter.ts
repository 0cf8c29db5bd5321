/**
 * Defines filter and order of the group list, and converts them between form values, address parameters and the
 * service's query. Invalid parameters (`step_from=x`, `sort=x`) are ignored; a lower bound above the upper is reported
 * by `problemOf`.
 */
import * as Format from "../ui/Format.ts"
import * as RolloutOrder from "@atropos/core/service/api/RolloutOrder"
import * as Expression from "./Expression.ts"
import { type Filter, type Measure, type Sort, states } from "./FilterFields.ts"
import type { RolloutQuery } from "../source/Wire.ts"

export { type Filter, none, type Sort, states } from "./FilterFields.ts"

/** Max length of a search in the service. */
export const maxTextLength = 1000
export const maxItemLength = 128

const measures: ReadonlyArray<Measure> = ["score", "advantage", "length"]

export const fromSearch = (search: URLSearchParams): Filter => ({
  isNewestRun: search.get("newest_run") === "true",
  environment: search.get("environment") || null,
  stepFrom: whole(number(search.get("step_from"))),
  stepTo: whole(number(search.get("step_to"))),
  scoreFrom: number(search.get("score_from")),
  scoreTo: number(search.get("score_to")),
  text: (search.get("text") ?? "").slice(0, maxTextLength),
  state: states.find((state) => state === search.get("state")) ?? null,
  item: search.get("item")?.slice(0, maxItemLength) || null,
  bestTo: number(search.get("best_to")),
  bestFrom: number(search.get("best_from")),
  disagreementFrom: number(search.get("disagreement_from")),
  disagreementTo: number(search.get("disagreement_to")),
  deviationFrom: number(search.get("deviation_from")),
  deviationTo: number(search.get("deviation_to")),
  lengthFrom: number(search.get("length_from")),
  lengthTo: number(search.get("length_to")),
  stalenessFrom: number(search.get("staleness_from")),
  stalenessTo: number(search.get("staleness_to")),
  isNewlySolved: search.get("newly_solved") === "true",
  hasToolErrors: search.get("tool_errors") === "true",
  isTruncated: search.get("truncated") === "true",
  component: search.get("component") || null,
  componentFrom: number(search.get("component_from")),
  componentTo: number(search.get("component_to")),
  value: measures.find((measure) => measure === search.get("value")) ?? null,
  valueFrom: number(search.get("value_from")),
  valueBelow: number(search.get("value_below")),
  valueTo: number(search.get("value_to")),
  sort: RolloutOrder.sorts.find((sort) => sort === search.get("sort")) ?? null,
  isAscending: search.get("order") === "ascending"
})

const flag = (value: boolean): "true" | null => (value ? "true" : null)

/** The address's parameters; null for defaults. */
export const toSearch = (filter: Filter): { readonly [name: string]: string | number | null } => ({
  newest_run: flag(filter.isNewestRun),
  environment: filter.environment,
  item: filter.item,
  step_from: filter.stepFrom,
  step_to: filter.stepTo,
  score_from: filter.scoreFrom,
  score_to: filter.scoreTo,
  text: filter.text === "" ? null : filter.text,
  state: filter.state,
  best_to: filter.bestTo,
  best_from: filter.bestFrom,
  disagreement_from: filter.disagreementFrom,
  disagreement_to: filter.disagreementTo,
  deviation_from: filter.deviationFrom,
  deviation_to: filter.deviationTo,
  length_from: filter.lengthFrom,
  length_to: filter.lengthTo,
  staleness_from: filter.stalenessFrom,
  staleness_to: filter.stalenessTo,
  newly_solved: flag(filter.isNewlySolved),
  tool_errors: flag(filter.hasToolErrors),
  truncated: flag(filter.isTruncated),
  component: filter.component,
  component_from: filter.componentFrom,
  component_to: filter.componentTo,
  value: filter.value,
  value_from: filter.valueFrom,
  value_below: filter.valueBelow,
  value_to: filter.valueTo,
  sort: filter.sort,
  order: filter.sort !== null && filter.isAscending ? "ascending" : null
})

/** False if sorting by component without a component. */
const sorts = ({ component, sort }: Filter): boolean => sort !== null && (sort !== "component" || component !== null)

export const toQuery = (filter: Filter): RolloutQuery => {
  const applied = Expression.apply(filter).filter
  const search = toSearch(applied)
  const criteria = sorts(applied) ? search : { ...search, sort: null, order: null }
  return Object.fromEntries(Object.entries(criteria).filter(([, value]) => value !== null))
}

/** Filters and orders that do not depend on a group's content. */
const ofRows = new Set([
  "newest_run",
  "environment",
  "step_from",
  "step_to",
  "score_from",
  "score_to",
  "best_from",
  "best_to",
  "disagreement_from",
  "disagreement_to",
  "deviation_from",
  "deviation_to",
  "staleness_from",
  "staleness_to",
  "state",
  "value",
  "value_from",
  "value_below",
  "value_to",
  "order"
])
const ofScores: ReadonlySet<Sort | undefined> = new Set([
  "mean",
  "best",
  "disagreement",
  "deviation",
  "staleness",
  "state"
])

/** True if groups must have been read to be matched and sorted. */
export const needsReading = (query: RolloutQuery): boolean =>
  query.value === "length" ||
  Object.keys(query).some((name) => !ofRows.has(name) && !(name === "sort" && ofScores.has(query.sort)))

/** Number of active filters; an order is not one. */
export const active = (filter: Filter): number =>
  [
    filter.isNewestRun,
    filter.environment !== null,
    filter.item !== null,
    filter.stepFrom !== null || filter.stepTo !== null,
    filter.scoreFrom !== null || filter.scoreTo !== null,
    filter.text.trim() !== "",
    filter.state !== null,
    filter.bestTo !== null || filter.bestFrom !== null,
    filter.disagreementFrom !== null || filter.disagreementTo !== null,
    filter.deviationFrom !== null || filter.deviationTo !== null,
    filter.lengthFrom !== null || filter.lengthTo !== null,
    filter.stalenessFrom !== null || filter.stalenessTo !== null,
    filter.value !== null,
    filter.isNewlySolved,
    filter.hasToolErrors,
    filter.isTruncated,
    filter.component !== null && (filter.componentFrom !== null || filter.componentTo !== null)
  ].filter(Boolean).length

/** `a score from 0.5 to below 0.54`: describes the value filter; null without one. */
export const valueWords = ({ value, valueBelow, valueFrom, valueTo }: Filter): string | null => {
  if (value === null) return null
  const from = valueFrom === null ? "" : ` from ${Format.number(valueFrom)}`
  const to =
    valueTo !== null
      ? ` to ${Format.number(valueTo)}`
      : valueBelow !== null
        ? ` to below ${Format.number(valueBelow)}`
        : ""
  return `${value === "advantage" ? "an" : "a"} ${value}${from}${to}`
}

type Bounds = readonly [from: number | null, to: number | null]

const ranges: ReadonlyArray<readonly [what: string, of: (filter: Filter) => Bounds]> = [
  ["Step", ({ stepFrom, stepTo }) => [stepFrom, stepTo]],
  ["Mean score", ({ scoreFrom, scoreTo }) => [scoreFrom, scoreTo]],
  ["Length", ({ lengthFrom, lengthTo }) => [lengthFrom, lengthTo]],
  ["Staleness", ({ stalenessFrom, stalenessTo }) => [stalenessFrom, stalenessTo]],
  ["Score range", ({ disagreementFrom, disagreementTo }) => [disagreementFrom, disagreementTo]],
  ["Score std dev", ({ deviationFrom, deviationTo }) => [deviationFrom, deviationTo]],
  ["Component", ({ componentFrom, componentTo }) => [componentFrom, componentTo]]
]

export const problemOf = (filter: Filter): string | null => {
  const { filter: applied, problem } = Expression.apply(filter)
  if (problem !== null) return problem
  for (const [what, of] of ranges) {
    const [from, to] = of(applied)
    if (from !== null && to !== null && from > to) return `${what}: the minimum ${from} exceeds the maximum ${to}.`
  }
  return null
}

export const number = (text: string | null): number | null => {
  if (text === null || text.trim() === "") return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

const whole = (value: number | null): number | null => (value === null ? null : Math.trunc(value))
