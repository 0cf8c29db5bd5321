/**
 * Validates the return values of a definition's functions: a file that runs without type checks may return anything.
 */
import { Effect, Predicate } from "effect"
import type { RolloutGroup, Rollouts } from "./Definition.ts"
import type { DefinitionFault } from "./EnvironmentError.ts"
import * as Labels from "../trajectory/Labels.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import type { Score } from "../reward/Score.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"
import { kindOf, wrong } from "./UserCode.ts"

const isTrajectory = (value: unknown): value is Trajectory =>
  Predicate.isObject(value) && "tokens" in value && "mask" in value && "messages" in value

const isScore = (value: unknown): value is Score => {
  if (typeof value === "number") return true
  if (!Predicate.isReadonlyObject(value)) return false
  const { rewards, score } = value
  return typeof score === "number" || (score === undefined && rewards !== undefined)
}

/** The fault in a score's components, or undefined. */
const faultOfRewards = (value: Score): string | undefined =>
  typeof value === "number" || value.rewards === undefined
    ? undefined
    : value.score === undefined
      ? RewardComponents.faultOfScore(value.rewards)
      : RewardComponents.faultOf(value.rewards)

const isGroup = (value: unknown): value is RolloutGroup =>
  Predicate.hasProperty(value, "trajectories") && Array.isArray(value.trajectories)

const badTrajectory = (part: string, input: ReadonlyArray<unknown>): DefinitionFault | undefined => {
  const index = input.findIndex((one) => !isTrajectory(one))
  return index < 0
    ? undefined
    : wrong(
        part,
        `returned ${kindOf(input[index])} as number ${index + 1} of ${input.length} trajectories; trajectories are returned by ServerManager's chat and complete, or by a session's trajectories`
      )
}

/** Converts plain lists of numbers to typed arrays, and wire-form labels and logprobs to the internal form. */
const withArrays = (trajectory: Trajectory): Trajectory => {
  const { logprobs, mask, tokens } = trajectory
  const isTyped = tokens instanceof Int32Array && (logprobs === undefined || logprobs instanceof Float32Array)
  if (isTyped && mask instanceof Uint8Array) return trajectory
  const ids = Int32Array.from(tokens)
  return {
    ...trajectory,
    tokens: ids,
    mask: mask instanceof Uint8Array ? mask : Labels.toMask(ids, mask),
    ...(logprobs !== undefined && { logprobs: Labels.toLogprobs(logprobs) })
  }
}

const inArrays = (group: RolloutGroup): RolloutGroup => ({
  ...group,
  trajectories: group.trajectories.map(withArrays)
})

/** Checks that there is one valid score per trajectory. */
export const scores = (
  part: string,
  input: unknown,
  trajectories: number
): Effect.Effect<ReadonlyArray<Score>, DefinitionFault> =>
  Effect.suspend(() => {
    const expected = "one score per trajectory is expected, in their order"
    if (!Array.isArray(input))
      return Effect.fail(wrong(part, `returned ${kindOf(input)} as scores; an array with ${expected}`))
    const bad = input.findIndex((one) => !isScore(one))
    if (bad >= 0) {
      return Effect.fail(
        wrong(
          part,
          `returned ${kindOf(input[bad])} as score number ${bad + 1} of ${input.length}; a score is a number or { score, rewards, advantages, overrides }, where rewards may replace score`
        )
      )
    }
    const [fault] = input.flatMap((score: Score, index) => {
      const found = faultOfRewards(score)
      return found === undefined ? [] : [wrong(part, `returned score number ${index + 1} of ${input.length}: ${found}`)]
    })
    if (fault !== undefined) return Effect.fail(fault)
    return input.length === trajectories
      ? Effect.succeed(input)
      : Effect.fail(
          wrong(
            part,
            `returned ${input.length} ${input.length === 1 ? "score" : "scores"} for ${trajectories} trajectories; ${expected}`
          )
        )
  })

const part = "collectTrajectories"

export const rollouts = <Item>(
  input: Rollouts<Item>
): Effect.Effect<Exclude<Rollouts<Item>, ReadonlyArray<Trajectory>>, DefinitionFault> =>
  Effect.suspend(() => {
    const groups: unknown = Predicate.hasProperty(input, "groups") ? input.groups : undefined
    if (!Array.isArray(input) && !(Array.isArray(groups) && groups.every(isGroup))) {
      return Effect.fail(
        wrong(
          part,
          `returned ${kindOf(input)}; expected an array of trajectories, or { groups: [{ trajectories }], requeue }`
        )
      )
    }
    const made = "groups" in input ? input : { groups: [{ trajectories: input }] }
    const fault = made.groups
      .map(({ trajectories }) => badTrajectory(part, trajectories))
      .find((one) => one !== undefined)
    return fault === undefined ? Effect.succeed({ ...made, groups: made.groups.map(inArrays) }) : Effect.fail(fault)
  })

/** Normalizes the result of an evaluation item to a group. */
export const evaluated = (
  input: ReadonlyArray<Trajectory> | RolloutGroup
): Effect.Effect<RolloutGroup, DefinitionFault> =>
  Effect.suspend(() => {
    const name = `evaluation.${part}`
    const trajectories: unknown = isGroup(input) ? input.trajectories : input
    if (!Array.isArray(trajectories)) {
      return Effect.fail(
        wrong(name, `returned ${kindOf(input)}; expected an array of trajectories, or { trajectories }`)
      )
    }
    const fault = badTrajectory(name, trajectories)
    if (fault !== undefined) return Effect.fail(fault)
    return Effect.succeed(inArrays("trajectories" in input ? input : { trajectories: input }))
  })
