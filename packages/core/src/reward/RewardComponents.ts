/**
 * Keeps the components of a reward separate: `{ correct: 1, format: 0.5 }`.
 *
 * An environment's score may consist of components (`Environment.Score`): their sum weighted by the setting
 * `reward_weights` is the sequence's score, and the components are sent with the group (`ScoredGroup.rewards`) to
 * metrics and the viewer. On the wire they are `overrides[i].rewards`, which an original service and trainer ignore.
 */
import { Predicate } from "effect"
import * as ValueText from "../base/ValueText.ts"
import type { Overrides, Rewards } from "../trajectory/ScoredGroup.ts"

export type { Rewards } from "../trajectory/ScoredGroup.ts"

/** By component; the default weight is 1. */
export type Weights = { readonly [component: string]: number }

/** Combines components into a score: base + Σ weight · value. */
export interface Rule {
  readonly weights: Weights
  /** Default: 0. */
  readonly base?: number
}

/** An environment's rule with the weights of its setting `reward_weights`, which take precedence. */
export const ruleOf = ({ rewardWeights }: { readonly rewardWeights: Weights }, { base, weights }: Rule): Rule => ({
  weights: { ...weights, ...rewardWeights },
  ...(base !== undefined && { base })
})

export const scoreOf = (rewards: Rewards, { base = 0, weights }: Rule): number => base + weighted(rewards, weights)

/** Component names become metric names, so they are kept short and plain. */
const name = /^[A-Za-z_][\w.-]{0,63}$/

/** Max length of a component's name, in characters. */
export const maxNameLength = 64

/** Max components; each becomes a metric. */
export const maxComponents = 32

/** Describes why a value is not valid as components; undefined if it is. Filters check that the numbers are usable. */
export const faultOf = (input: unknown): string | undefined => {
  if (!Predicate.isReadonlyObject(input))
    return "rewards must be an object of numbers, for example { correct: 1, format: 0.5 }"
  const components = Object.entries(input)
  if (components.length > maxComponents)
    return `rewards may have at most ${maxComponents} components, not ${components.length}`
  const misnamed = components.find(([component]) => !name.test(component))?.[0]
  if (misnamed !== undefined) {
    return `a component is named ${JSON.stringify(misnamed.slice(0, 80))}; a name has up to 64 letters, digits, "_", "." and "-", and starts with a letter or "_"`
  }
  const odd = components.find(([, value]) => typeof value !== "number")
  return odd === undefined
    ? undefined
    : `the component ${odd[0]} is ${ValueText.of(odd[1]) ?? typeof odd[1]}; a component must be a number`
}

/** Like `faultOf`, for components without a score: at least one is required, since none would silently count as 0. */
export const faultOfScore = (input: unknown): string | undefined =>
  faultOf(input) ??
  (Predicate.isReadonlyObject(input) && Object.keys(input).length === 0
    ? "it names no component, and would silently count as 0; give a number, or components, for example { correct: 1, format: 0.5 }"
    : undefined)

/**
 * True for a number that a trainer can compute with: finite in float32, so up to 3.4e38. Sums and squares of such
 * numbers are finite in float64, hence every mean and deviation.
 */
export const isUsable = (value: number): boolean => Number.isFinite(Math.fround(value))

/** Describes why a number is not usable. */
export const unusable = (value: number): string =>
  Number.isFinite(value) ? `is ${value}, beyond the range of float32 (3.4e38)` : `is ${value}`

/** True if the value is valid components with usable numbers only. */
export const isRewards = (input: unknown): input is Rewards =>
  faultOf(input) === undefined && Object.values(input as Rewards).every(isUsable)

/** Σ weight · value. */
export const weighted = (rewards: Rewards, weights: Weights = {}): number =>
  Object.entries(rewards).reduce(
    (sum, [component, value]) => sum + (Object.hasOwn(weights, component) ? weights[component]! : 1) * value,
    0
  )

/** Number of occurrences of a component, and the sum of its values. */
export interface Total {
  readonly count: number
  readonly sum: number
}

/** Bound for environments that generate component names from their items. */
const maxTotals = 64

/** Totals by component; at the limit, components already in `known` are kept. */
export const totals = (
  all: Iterable<Rewards>,
  known: Iterable<readonly [component: string, total: Total]> = []
): ReadonlyMap<string, Total> => {
  const found = new Map(known)
  for (const rewards of all) {
    for (const [component, value] of Object.entries(rewards)) {
      const { count, sum } = found.get(component) ?? { count: 0, sum: 0 }
      if (count > 0 || found.size < maxTotals) found.set(component, { count: count + 1, sum: sum + value })
    }
  }
  return found
}

const key = "rewards"

/** The overrides of a group's sequences, with components in their place on the wire. */
export const toOverrides = (
  overrides: ReadonlyArray<Overrides> | undefined,
  rewards: ReadonlyArray<Rewards> | undefined
): ReadonlyArray<Overrides> | undefined =>
  rewards === undefined || rewards.every(isEmpty)
    ? overrides
    : (overrides ?? rewards.map(() => ({}))).map((switches, index) => {
        const own = rewards[index] ?? {}
        return isEmpty(own) ? switches : { ...switches, [key]: own }
      })

/** Separates the components from the other overrides, if every value under their key is valid components. */
export const ofOverrides = (
  overrides: ReadonlyArray<Overrides> | undefined
): { readonly overrides?: ReadonlyArray<Overrides>; readonly rewards?: ReadonlyArray<Rewards> } => {
  if (overrides === undefined) return {}
  const rewards = overrides.map((own) => (Object.hasOwn(own, key) ? own[key] : {}))
  if (!rewards.every(isRewards) || rewards.every(isEmpty)) return { overrides }
  const others = overrides.map((own) => Object.fromEntries(Object.entries(own).filter(([name]) => name !== key)))
  return { ...(!others.every(isEmpty) && { overrides: others }), rewards }
}

const isEmpty = (one: object): boolean => Object.keys(one).length === 0
