/** Defines labels of the list's orders, and the value each sorts by. Pure. */
import type * as Wire from "../../source/Wire.ts"
import { count, number } from "../../ui/Format.ts"
import { itemOf } from "../../source/RowFilter.ts"
import type { Sort } from "../../query/Filter.ts"

interface Kind {
  readonly name: string
  readonly head: string
  /** Value in a row; null if the row has none, or shows it anyway. */
  readonly shown: (row: Wire.RolloutRow) => string | null
}

const figures =
  (of: (figures: NonNullable<Wire.RolloutRow["figures"]>) => string | null): Kind["shown"] =>
  (row) =>
    row.figures === null || row.figures === undefined ? null : of(row.figures)

const spread = ({ scores }: Wire.RolloutRow): string =>
  scores.length === 0 ? "–" : number(Math.max(...scores) - Math.min(...scores), 3)

const deviation = ({ scores }: Wire.RolloutRow): string => {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  return number(Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length), 3)
}

const kinds: { readonly [S in Exclude<Sort, "component">]: Kind } = {
  mean: { name: "mean score", head: "Mean", shown: () => null },
  best: { name: "best score", head: "Best", shown: ({ scores }) => number(Math.max(...scores), 3) },
  disagreement: { name: "score range", head: "Range", shown: spread },
  deviation: { name: "score std dev", head: "Std dev", shown: deviation },
  length: { name: "answer length", head: "Length", shown: figures(({ length }) => count(Math.round(length))) },
  longest_best: {
    name: "longest best answer",
    head: "Longest",
    shown: figures(({ longest_best }) => count(longest_best))
  },
  truncated: {
    name: "truncated share",
    head: "Truncated",
    shown: figures(({ truncated }) => `${number(truncated * 100, 3)}%`)
  },
  tool_errors: { name: "tool errors", head: "Errors", shown: figures(({ tool_errors }) => count(tool_errors)) },
  staleness: {
    name: "staleness",
    head: "Staleness",
    shown: ({ policy_step, step }) => (step === null || policy_step === null ? null : count(step - policy_step))
  },
  surprise: {
    name: "surprise",
    head: "Surprise",
    shown: figures(({ surprise }) => (surprise === null ? null : `${number(surprise, 3)} nats`))
  },
  surprise_best: {
    name: "best rollout's surprise",
    head: "Surprise",
    shown: figures(({ surprise_best }) => (surprise_best === null ? null : `${number(surprise_best, 3)} nats`))
  },
  state: { name: "state", head: "State", shown: () => null },
  item: { name: "item", head: "Item", shown: itemOf }
}

const ofService: ReadonlySet<Sort> = new Set(["staleness", "state"])

export const sortsOf = (isPlain: boolean): ReadonlyArray<Exclude<Sort, "component">> =>
  // Object.keys loses the key type.
  (Object.keys(kinds) as ReadonlyArray<Exclude<Sort, "component">>).filter((sort) => !isPlain || !ofService.has(sort))

export const nameOf = (sort: Sort, component: string | null): string =>
  sort === "component" ? `component ${component ?? ""}` : kinds[sort].name

/** The column of the sort key, unless rows show it anyway. */
export const columnOf = (
  sort: Sort | null,
  component: string | null
): { readonly head: string; readonly shown: Kind["shown"] } | null => {
  if (sort === null || sort === "mean" || sort === "state") return null
  if (sort !== "component") return kinds[sort]
  return {
    head: component ?? "",
    shown: figures(({ components }) => {
      const value = component === null ? undefined : components[component]
      return value === undefined ? null : number(value, 3)
    })
  }
}
