/**
 * Components of a reward, kept apart: `{ correct: 1, format: 0.5 }`.
 *
 * An environment's score may be made of them (`Environment.Score`): their weighted sum by its setting `reward_weights`
 * is the sequence's score, and the components go along with the group (`ScoredGroup.rewards`), to metrics and viewer.
 * On the wires they are `overrides[i].rewards`, where a service and a trainer of the original leave them be.
 */
import { Predicate } from "effect"
import * as ValueText from "./base/ValueText.ts"

/** Raw values by name, before any weight. */
export type Rewards = { readonly [component: string]: number }

/** By component; one that is not named counts as it is. */
export type Weights = { readonly [component: string]: number }

/** How components give a score: base + Σ weight · value. */
export interface Rule {
  readonly weights: Weights
  /** Default: 0. */
  readonly base?: number
}

/** An environment's rule with the weights of its setting `reward_weights`, which go before. */
export const ruleOf = ({ rewardWeights }: { readonly rewardWeights: Weights }, { base, weights }: Rule): Rule => ({
  weights: { ...weights, ...rewardWeights },
  ...(base !== undefined && { base })
})

/** The score of components by a rule. */
export const scoreOf = (rewards: Rewards, { base = 0, weights }: Rule): number => base + weighted(rewards, weights)

/** Names become names of metrics, so they are kept short and plain. */
const name = /^[A-Za-z_][\w.-]{0,63}$/

/** Each becomes a metric. */
const most = 32

/** What is wrong with it as components, in words; undefined: nothing. That numbers are finite is left to filters. */
export const faultOf = (given: unknown): string | undefined => {
  if (!Predicate.isReadonlyObject(given))
    return "rewards must be an object of numbers, such as { correct: 1, format: 0.5 }"
  const components = Object.entries(given)
  if (components.length > most) return `rewards may have ${most} components, not ${components.length}`
  const misnamed = components.find(([component]) => !name.test(component))?.[0]
  if (misnamed !== undefined) {
    return `a component is named ${JSON.stringify(misnamed.slice(0, 80))}; a name has up to 64 letters, digits, "_", "." and "-", and begins with a letter or "_"`
  }
  const odd = components.find(([, value]) => typeof value !== "number")
  return odd === undefined
    ? undefined
    : `the component ${odd[0]} is ${ValueText.of(odd[1]) ?? typeof odd[1]}; a component must be a number`
}

/**
 * The same for components that are all there is of a score: at least one is needed, as nothing would count as 0 without
 * notice.
 */
export const faultOfScore = (given: unknown): string | undefined =>
  faultOf(given) ??
  (Predicate.isReadonlyObject(given) && Object.keys(given).length === 0
    ? "it names no component, and would silently count as 0; give a number, or components such as { correct: 1, format: 0.5 }"
    : undefined)

/** Whether it is components, with finite numbers alone. */
export const isRewards = (given: unknown): given is Rewards =>
  faultOf(given) === undefined && Object.values(given as Rewards).every(Number.isFinite)

/** Σ weight · value. */
export const weighted = (rewards: Rewards, weights: Weights = {}): number =>
  Object.entries(rewards).reduce(
    (sum, [component, value]) => sum + (Object.hasOwn(weights, component) ? weights[component]! : 1) * value,
    0
  )

/** How often a component was given, and the sum of its values. */
export interface Total {
  readonly count: number
  readonly sum: number
}

/** An environment that names components by its items must not become as many metrics. */
const mostTotals = 64

/** By component, of those that were known first. */
export const totals = (
  all: Iterable<Rewards>,
  known: Iterable<readonly [component: string, total: Total]> = []
): ReadonlyMap<string, Total> => {
  const found = new Map(known)
  for (const rewards of all) {
    for (const [component, value] of Object.entries(rewards)) {
      const { count, sum } = found.get(component) ?? { count: 0, sum: 0 }
      if (count > 0 || found.size < mostTotals) found.set(component, { count: count + 1, sum: sum + value })
    }
  }
  return found
}

/** The switch of a sequence that holds its components. */
const key = "rewards"

type Overrides = { readonly [key: string]: unknown }

/** What a group says of its sequences, with the components where wires have them. */
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

/** The components apart from the other switches, where all that a wire has by their name are components. */
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
