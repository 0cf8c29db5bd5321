/**
 * Defines a reward: a named function of a completion and its reference.
 *
 * Most are pure (`make`); some use a service, a verifier or an embedder (`makeEffect`). They compose with `weighted`
 * and `combine`. Failures are never converted to zero: a broken grader must not look like a bad policy. Follows
 * atroposlib/envs/reward_fns of the original, whose `CombinedReward` ignored its parts' weights; ours does not.
 */
import { Effect } from "effect"
import type { Rewards, Rule } from "@atropos/core/reward/RewardComponents"

export interface Reference {
  /** The expected answer. */
  readonly solution?: string
}

export interface Reward<out E = never, out R = never> {
  readonly name: string
  readonly weight: number
  /** The raw reward of one completion, before its weight. */
  readonly compute: (completion: string, reference: Reference) => Effect.Effect<number, E, R>
}

export const make = (name: string, compute: (completion: string, reference: Reference) => number): Reward =>
  makeEffect(name, (completion, reference) => Effect.sync(() => compute(completion, reference)))

export const makeEffect = <E, R>(name: string, compute: Reward<E, R>["compute"]): Reward<E, R> => ({
  name,
  weight: 1,
  compute
})

export const weighted = <E, R>(reward: Reward<E, R>, weight: number): Reward<E, R> => ({ ...reward, weight })

/** Weighted rewards of several completions of one item. */
export const scores = <E, R>(
  reward: Reward<E, R>,
  completions: ReadonlyArray<string>,
  reference: Reference = {}
): Effect.Effect<Array<number>, E, R> =>
  Effect.forEach(completions, (completion) =>
    Effect.map(reward.compute(completion, reference), (raw) => reward.weight * raw)
  )

/**
 * Normalization of totals: none, divided by the sum of the weights, or rescaled to [0, 1] over the completions of the
 * item (which depends on the whole group, so it is not a `Reward`).
 */
export type Normalization = "none" | "sum" | "minmax"

/** The rule that combines the components of several rewards to a score; "minmax" rescales its result. */
export const rule = (
  parts: ReadonlyArray<Pick<Reward, "name" | "weight">>,
  normalization: Normalization = "none"
): Rule => {
  const sum = parts.reduce((total, { weight }) => total + weight, 0)
  const over = normalization === "sum" && sum !== 0 ? sum : 1
  return { weights: Object.fromEntries(parts.map(({ weight }, index) => [nameOf(parts, index), weight / over])) }
}

/** Raw unweighted rewards of several completions of one item, by name. */
export const components = <E, R>(
  parts: ReadonlyArray<Reward<E, R>>,
  completions: ReadonlyArray<string>,
  reference: Reference = {}
): Effect.Effect<ReadonlyArray<Rewards>, E, R> =>
  Effect.forEach(completions, (completion) =>
    Effect.map(
      Effect.forEach(parts, ({ compute }) => compute(completion, reference)),
      (values) => Object.fromEntries(values.map((value, index) => [nameOf(parts, index), value]))
    )
  )

/** A reward that occurs several times, with different parameters, is numbered from the second on. */
const nameOf = (parts: ReadonlyArray<Pick<Reward, "name">>, index: number): string => {
  const { name } = parts[index]!
  const before = parts.slice(0, index).filter((one) => one.name === name).length
  return before === 0 ? name : `${name}_${before + 1}`
}

/** Totals rescaled to [0, 1]; unchanged if all are equal. */
export const stretched = (totals: ReadonlyArray<number>): ReadonlyArray<number> => {
  const lowest = Math.min(...totals)
  const range = Math.max(...totals) - lowest
  return range === 0 ? totals : totals.map((total) => (total - lowest) / range)
}

/** The weighted sum of several rewards for each completion of one item. */
export const combine = <E, R>(
  parts: ReadonlyArray<Reward<E, R>>,
  completions: ReadonlyArray<string>,
  reference: Reference = {},
  normalization: Normalization = "none"
): Effect.Effect<Array<number>, E, R> =>
  Effect.map(
    Effect.forEach(parts, (part) => scores(part, completions, reference)),
    (byPart) => {
      const totals = completions.map((_, index) => byPart.reduce((sum, part) => sum + part[index]!, 0))
      if (normalization === "none") return totals
      if (normalization === "sum") {
        const weight = parts.reduce((sum, part) => sum + part.weight, 0)
        return weight === 0 ? totals : totals.map((total) => total / weight)
      }
      return Array.from(stretched(totals))
    }
  )
