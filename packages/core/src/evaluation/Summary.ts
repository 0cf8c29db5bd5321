/**
 * Summarizes the answers of an evaluation: shares and means over items with 95% intervals, in total and by category.
 * Pure; also runs in browsers.
 */
import * as Evaluation from "./Statistics.ts"
import { type Answer, isJudged, type Items, shareOf } from "./Comparison.ts"

export interface Estimate {
  readonly value: number
  /** Absent for the mean of a single item. */
  readonly interval?: Evaluation.Interval
}

export interface Summary {
  readonly items: number
  /** Absent if the environment does not define which answers are correct. */
  readonly correct?: Estimate
  readonly score: Estimate
  readonly rewards: { readonly [name: string]: Estimate }
}

/** `trials` is the number of answers. */
const mean = (values: ReadonlyArray<number>, trials: number): Estimate => {
  const interval = Evaluation.scoreInterval(values, trials)
  return { value: Evaluation.mean(values), ...(interval && { interval }) }
}

const summary = (items: ReadonlyArray<ReadonlyArray<Answer>>): Summary => {
  const trials = items.reduce((sum, { length }) => sum + length, 0)
  const { interval, value } = Evaluation.share(Evaluation.sharesOf(items.map(shareOf), trials))
  const names = new Set(items.flatMap((answers) => answers.flatMap(({ rewards = {} }) => Object.keys(rewards))))
  const valuesOf = (name: string) =>
    items.flatMap((answers) => {
      const values = answers.flatMap(({ rewards }) => rewards?.[name] ?? [])
      return values.length === 0 ? [] : [Evaluation.mean(values)]
    })
  return {
    items: items.length,
    ...(items.every(isJudged) && { correct: { value, interval } }),
    score: mean(
      items.map((answers) => Evaluation.mean(answers.map(({ score }) => score))),
      trials
    ),
    rewards: Object.fromEntries([...names].sort().map((name) => [name, mean(valuesOf(name), trials)]))
  }
}

/** Undefined without items. */
export const of = (items: Items): Summary | undefined => (items.size === 0 ? undefined : summary([...items.values()]))

/** By category, for items that have one. */
export const byCategory = (items: Items): { readonly [category: string]: Summary } => {
  const groups = Map.groupBy(
    [...items.values()].filter(([first]) => first?.category !== undefined),
    ([first]) => first?.category ?? ""
  )
  return Object.fromEntries(
    [...groups].sort(([a], [b]) => a.localeCompare(b)).map(([name, all]) => [name, summary(all)])
  )
}
