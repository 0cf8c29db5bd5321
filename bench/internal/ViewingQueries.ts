/** Queries on a list of many groups: pages, filters, words, orders, and the viewer's presets. */
import { sorts } from "@atropos/core/service/api/RolloutOrder"

export type Query = readonly [what: string, query: string]

/** `before` is the `next` of a page that starts after half of the groups; empty if there are too few for pages. */
const filters = (before: string): ReadonlyArray<Query> => [
  ["first page", ""],
  ...(before === "" ? [] : [["page after 5,000", `before=${before}`] as const]),
  ["an environment", "environment=stories_0"],
  ["a range of steps", "step_from=100&step_to=200"],
  ["a range of scores", "score_from=0.3&score_to=0.5"],
  ["a word of every group", "text=the"],
  ["beginnings of three frequent words", "text=th+an+numb"],
  ["a rare word", "text=4711"],
  ["a phrase", "text=%22question+123%22"],
  ["a phrase of frequent words", "text=%22of+the%22"],
  ["a box", `text=${encodeURIComponent("\\boxed{777}")}`],
  ["a letter", "text=b"],
  ["all filters", "environment=stories_0&step_from=100&step_to=900&score_from=0.1&text=the+answer"],
  ["nothing found", "text=qqqq"]
]

const bounds: ReadonlyArray<Query> = [
  ["a range of lengths", "length_from=80&length_to=100"],
  ["disagreement", "disagreement_from=1"],
  ["deviation", "deviation_from=0.4&deviation_to=0.45"],
  ["staleness", "staleness_from=1"],
  ["an item", "item=item-7"],
  ["a component", "component=format&component_from=0.5"]
]

const orders: ReadonlyArray<Query> = sorts.flatMap((sort): ReadonlyArray<Query> => {
  const query = `sort=${sort}${sort === "component" ? "&component=format" : ""}`
  return [
    [`by ${sort}`, query],
    [`by ${sort}, page after 5,000`, `${query}&order=ascending&before=5000`]
  ]
})

/** As in the viewer's `Presets.ts`. */
const presets: ReadonlyArray<Query> = [
  ["preset: all wrong", "best_to=0"],
  ["preset: newly solved", "newly_solved=true"],
  ["preset: longest correct", "best_from=1e-9&sort=longest_best"],
  ["preset: reward on rare tokens", "best_from=1e-9&sort=surprise_best"],
  ["preset: disagreement", "sort=disagreement"],
  ["newly solved, by length", "newly_solved=true&sort=length"]
]

export const all = (before: string): ReadonlyArray<Query> => [...filters(before), ...bounds, ...orders, ...presets]
