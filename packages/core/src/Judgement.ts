/** What a judgement makes of a group: the group as it is sent, with its scores, advantages and overrides. */
import type { RolloutGroup } from "./Environment.ts"
import * as Sampling from "./Sampling.ts"
import type { Judged } from "./Score.ts"
import type { Overrides, ScoredGroup } from "./ScoredGroup.ts"

/** What a trainer has to know of a rollout that its token limit cut off. */
const cutOff: Overrides = { finish_reason: "length" }

/** The wire's view of a group: lists that no trajectory has are absent, logprobs only where all have them. */
export const toScoredGroup = (group: RolloutGroup, details: ReadonlyArray<Judged>): ScoredGroup => {
  const { scores: _scores, trajectories, ...beside } = group
  const own = { ...beside.groupOverrides, ...beside.generationParams }
  // The environment has the last word.
  const switches = (sampling: Sampling.Sampling) =>
    Object.fromEntries(Object.entries(Sampling.toSwitches(sampling)).map(([name, value]) => [name, own[name] ?? value]))
  const sampling = trajectories[0]?.sampling
  const isAlike = trajectories.every((one) => Sampling.areEqual(one.sampling, sampling))
  const overrides = trajectories.map(({ finishReason, sampling }, index) => {
    const all = {
      ...(!isAlike && sampling !== undefined && switches(sampling)),
      ...(finishReason === "length" && cutOff),
      ...details[index]!.overrides
    }
    return Object.keys(all).length === 0 ? undefined : all
  })
  const logprobs = trajectories.flatMap(({ logprobs }) => (logprobs === undefined ? [] : [logprobs]))
  return {
    ...beside,
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
    })
  }
}
