/**
 * Adds a reward for calls that are nearly right, by the setting `partial_reward`: off by default, because it rewards
 * wrong answers. With it a model that is never right at first still has groups with different scores.
 *
 * The component `near` of a wrong answer is the mean over its calls, or the expected ones if these are more, of 0.2 for
 * a readable call, 0.3 for an expected name and 0.5 for the share of its expected arguments that are equal. Right
 * answers do not have it, so that their scores are unchanged and above those of every wrong one.
 */
import { Environment, type RewardComponents, ToolCalls } from "@atropos/core"
import { Predicate, Schema } from "effect"

export const field = Environment.field(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  0,
  "added to a wrong answer's score by how near its calls are: readable, right name, right arguments; for models that are never right at first, such as 0.8"
)

const argumentsOf = ({ arguments: value }: ToolCalls.Call): ReadonlyArray<readonly [string, unknown]> =>
  Predicate.isReadonlyObject(value) ? Object.entries(value) : [["", value]]

/** 0.2 to 1. */
const likeness = (expected: ToolCalls.Call, given: ToolCalls.Call): number => {
  if (expected.name !== given.name) return 0.2
  const wanted = argumentsOf(expected)
  const equal = wanted.filter(([key, value]) => {
    const one = { name: expected.name, arguments: key === "" ? value : { [key]: value } }
    return ToolCalls.fulfils(one, given)
  })
  return 0.5 + (wanted.length === 0 ? 0.5 : (0.5 * equal.length) / wanted.length)
}

/** How near the calls are to the expected ones, 0 to 1: the most alike are paired first. */
export const nearness = (expected: ReadonlyArray<ToolCalls.Call>, given: ReadonlyArray<ToolCalls.Call>): number => {
  const pairs = expected
    .flatMap((call, index) => given.map((other, at) => ({ index, at, value: likeness(call, other) })))
    .toSorted((a, b) => b.value - a.value)
  const [paired, taken] = [new Set<number>(), new Set<number>()]
  let sum = 0
  for (const { at, index, value } of pairs) {
    if (paired.has(index) || taken.has(at)) continue
    paired.add(index)
    taken.add(at)
    sum += value
  }
  return sum / Math.max(1, expected.length, given.length)
}

/** Adds nearness to the components of a wrong answer, if partial credit is on. */
export const add = (
  rewards: RewardComponents.Rewards,
  expected: ReadonlyArray<ToolCalls.Call>,
  given: () => ReadonlyArray<ToolCalls.Call>,
  partialReward: number
): RewardComponents.Rewards =>
  partialReward === 0 || rewards["correct"] !== 0 ? rewards : { ...rewards, near: nearness(expected, given()) }

/** The rule of the components with the weight of nearness. */
export const ruleOf = (rule: RewardComponents.Rule, partialReward: number): RewardComponents.Rule =>
  partialReward === 0 ? rule : { ...rule, weights: { ...rule.weights, near: partialReward } }
