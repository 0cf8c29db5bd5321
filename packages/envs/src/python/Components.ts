/**
 * Turns the rewards of a Python package into reward components.
 *
 * Packages name rewards freely; components have short, plain names. A name is kept if it is one, otherwise other
 * characters become `_`. Names that would become the same component get a suffix made of the original, so that no
 * reward replaces another. If there are more rewards than a score can have components, all of them count and the first
 * are shown, those with a weight in `reward_weights` before the others.
 */
import { RewardComponents } from "@atropos/core"
import * as ContentId from "@atropos/core/base/ContentId"
import type * as SessionGroup from "../agent/SessionGroup.ts"

const otherCharacters = /[^\w.-]/g

const plain = (name: string): string =>
  name
    .replaceAll(otherCharacters, "_")
    .replace(/^(?![A-Za-z_])/, "_")
    .slice(0, RewardComponents.maxNameLength)

const suffixLength = 6

const distinct = (name: string): string => {
  const suffix = `_${ContentId.of(name).slice(0, suffixLength)}`
  return plain(name).slice(0, RewardComponents.maxNameLength - suffix.length) + suffix
}

/** The component of each name. */
export const names = (all: ReadonlyArray<string>): ReadonlyArray<string> => {
  const sharing = Map.groupBy(all, plain)
  return all.map((name) =>
    name === plain(name) || sharing.get(plain(name))!.length === 1 ? plain(name) : distinct(name)
  )
}

/** A reward as a score: components if the package names them, otherwise the number. */
export const judged = (
  reward: number,
  rewards: RewardComponents.Rewards,
  weights: RewardComponents.Weights
): SessionGroup.Judged => {
  const keys = Object.keys(rewards)
  if (keys.length === 0) return reward
  const components = names(keys).map((name, at): readonly [string, number] => [name, rewards[keys[at]!]!])
  const all = Object.fromEntries(components)
  if (components.length <= RewardComponents.maxComponents) return all
  const isWeighted = ([name]: readonly [string, number]) => Object.hasOwn(weights, name)
  const shown = [...components.filter(isWeighted), ...components.filter((one) => !isWeighted(one))]
  return {
    _tag: "Total",
    score: RewardComponents.weighted(all, weights),
    rewards: Object.fromEntries(shown.slice(0, RewardComponents.maxComponents))
  }
}
