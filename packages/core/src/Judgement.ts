/** What a judgement makes of a group: the group as it is sent, with its scores, advantages and overrides. */
import type { RolloutGroup } from "./Environment.ts"
import type { Rewards } from "./RewardComponents.ts"
import * as Sampling from "./Sampling.ts"
import type { Judged } from "./Score.ts"
import * as Shown from "./Shown.ts"
import type { Overrides, ScoredGroup } from "./ScoredGroup.ts"
import * as Timings from "./Timings.ts"
import { isTooShort } from "./Trajectory.ts"

/** What a trainer has to know of a rollout that its token limit cut off. */
const cutOff: Overrides = { finish_reason: "length" }

/** What a trainer has to know of a rollout that is too short to learn from. */
const leftAlone: Overrides = { set_advantage_to_zero: true }

/**
 * The wire's view of a group: lists that no trajectory has are absent, logprobs only where all have them. Rollouts with
 * fewer trained tokens than `minTrainedTokens` keep their scores and are not learned from. With an origin, what
 * trajectories know of the times of their turns goes along.
 */
export const toScoredGroup = (
  group: RolloutGroup,
  details: ReadonlyArray<Judged>,
  {
    itemId,
    minTrainedTokens = 0,
    isSolved,
    gold,
    origin
  }: {
    readonly minTrainedTokens?: number
    readonly itemId?: string
    readonly origin?: Timings.Origin
    /** Answers that are right, to be shown; an environment's own (`sample.gold`) come first. */
    readonly gold?: ReadonlyArray<string>
    readonly isSolved?: (score: number, rewards?: Rewards) => boolean
  } = {}
): ScoredGroup => {
  const { scores: _scores, trajectories, ...beside } = group
  const own = { ...beside.groupOverrides, ...beside.generationParams }
  // The environment has the last word.
  const switches = (sampling: Sampling.Sampling) =>
    Object.fromEntries(Object.entries(Sampling.toSwitches(sampling)).map(([name, value]) => [name, own[name] ?? value]))
  const sampling = trajectories[0]?.sampling
  const isAlike = trajectories.every((one) => Sampling.areEqual(one.sampling, sampling))
  const overrides = trajectories.map(({ finishReason, mask, sampling, tokens }, index) => {
    const all = {
      ...(!isAlike && sampling !== undefined && switches(sampling)),
      ...(finishReason === "length" && cutOff),
      ...Shown.answerOf(details[index]!.sample),
      ...details[index]!.overrides,
      ...(isTooShort({ tokens, mask }, minTrainedTokens) && leftAlone)
    }
    return Object.keys(all).length === 0 ? undefined : all
  })
  const timings = origin === undefined ? [] : trajectories.map(({ turns }) => Timings.since(turns, origin))
  const logprobs = trajectories.flatMap(({ logprobs }) => (logprobs === undefined ? [] : [logprobs]))
  const shown = Shown.expectedOf(details[0]?.sample, gold)
  return {
    ...beside,
    ...(shown !== undefined && { groupOverrides: { ...shown, ...beside.groupOverrides } }),
    ...(isAlike &&
      sampling !== undefined && {
        generationParams: { ...beside.generationParams, ...switches(sampling) }
      }),
    tokens: trajectories.map(({ tokens }) => tokens),
    masks: trajectories.map(({ mask }) => mask),
    scores: Float64Array.from(details, ({ score }) => score),
    messages: trajectories.map(({ messages }) => messages),
    ...(logprobs.length === trajectories.length && { inferenceLogprobs: logprobs }),
    ...(details.some(({ advantages }) => advantages !== undefined) && {
      advantages: trajectories.map(({ tokens }, index) => {
        const { advantages, score } = details[index]!
        return advantages === undefined ? new Float32Array(tokens.length).fill(score) : Float32Array.from(advantages)
      })
    }),
    ...(details.some(({ rewards }) => rewards !== undefined) && {
      rewards: details.map(({ rewards }) => rewards ?? {})
    }),
    ...(overrides.some((one) => one !== undefined) && { overrides: overrides.map((one) => one ?? {}) }),
    ...(trajectories.some(({ policyVersion }) => policyVersion !== undefined) && {
      policyVersions: trajectories.map(({ policyVersion }) => policyVersion ?? null)
    }),
    ...(isSolved !== undefined && { solved: details.map(({ rewards, score }) => isSolved(score, rewards)) }),
    ...(timings.some((one) => one !== null) && { timings }),
    ...(trajectories.some(({ routedExperts }) => routedExperts !== undefined) && {
      routedExperts: trajectories.map(({ routedExperts }) => routedExperts ?? new Int32Array())
    }),
    ...(itemId !== undefined && { itemId })
  }
}
