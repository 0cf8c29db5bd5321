/** Converts an evaluation, or two joined by item, to tables for saving: items in the shown order, categories. Pure. */
import type * as Comparison from "@atropos/core/evaluation/Comparison"
import type * as Summary from "@atropos/core/evaluation/Summary"
import type * as Save from "../save/Save.ts"
import * as Items from "./Items.ts"

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const ofSide = ({ isJudged, samples, share }: Items.Side): ReadonlyArray<Save.Value> => [
  isJudged ? share : null,
  mean(samples.map(({ score }) => score)),
  samples.map(Items.shownAnswer).join(" | ")
]

const answered = ["correct", "score", "answer"]

/** For several samples of an item: the share correct, the mean score and all answers. */
export const ofItems = (items: ReadonlyArray<Items.Item>, isComparison: boolean): Save.Table => ({
  columns: [
    "item",
    "label",
    "category",
    "gold",
    ...(isComparison
      ? ["became", ...["before", "after"].flatMap((when) => answered.map((name) => `${name}_${when}`))]
      : answered)
  ],
  rows: items.map(({ category, course, gold, id, label, sides }) => [
    id,
    label,
    category,
    gold,
    ...(isComparison ? [course] : []),
    ...sides.flatMap(ofSide)
  ])
})

type Categories = { readonly [category: string]: Summary.Summary }

export const ofCategories = (categories: Categories): Save.Table => ({
  columns: ["category", "items", "correct", "lower", "upper"],
  rows: Object.entries(categories).map(([category, { correct, items }]) => [
    category,
    items,
    correct?.value ?? null,
    correct?.interval?.lower ?? null,
    correct?.interval?.upper ?? null
  ])
})

const countOf = (changes: ReadonlyArray<Comparison.Change>, name: string): number =>
  changes.filter(({ category }) => category === name).length

/** Fixed and broken items per category, and the difference of the shares correct. */
export const ofCompared = ({ broken, categories, fixed }: Comparison.Comparison): Save.Table => {
  return {
    columns: ["category", "items", "fixed", "broken", "before", "after", "difference", "lower", "upper", "p"],
    rows: Object.entries(categories).map(([name, { a, b, interval, items, p, value }]) => [
      name,
      items,
      countOf(fixed, name),
      countOf(broken, name),
      a,
      b,
      value,
      interval?.[0] ?? null,
      interval?.[1] ?? null,
      p ?? null
    ])
  }
}
