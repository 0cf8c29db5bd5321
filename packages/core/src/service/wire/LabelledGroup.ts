/**
 * A scored group as the wires have it: labels instead of masks, 1 instead of a logprob where nothing was sampled
 * (`Labels`), and the components of rewards in `overrides[i].rewards`.
 * What goes from one wire to another stays in this form, so that labels that are neither the token
 * nor -100 come out as they came in; whoever looks at a group takes a `ScoredGroup`.
 */
import * as Labels from "../../Labels.ts"
import * as RewardComponents from "../../RewardComponents.ts"
import type { ScoredGroup } from "../../ScoredGroup.ts"

export interface LabelledGroup extends Omit<ScoredGroup, "masks" | "rewards"> {
  /** (G, T_i) the token id where trained, -100 elsewhere; or whatever the sender takes for a mask. */
  readonly masks: ReadonlyArray<Int32Array>
}

/** The group as it is inside. */
export const toScoredGroup = ({ overrides, ...group }: LabelledGroup): ScoredGroup => ({
  ...group,
  ...RewardComponents.ofOverrides(overrides),
  masks: group.masks.map((labels, i) => Labels.toMask(group.tokens[i]!, labels)),
  ...(group.inferenceLogprobs && { inferenceLogprobs: group.inferenceLogprobs.map(Labels.toLogprobs) })
})

/** The group as wires have it. */
export const ofScoredGroup = ({ overrides: switches, rewards, ...group }: ScoredGroup): LabelledGroup => {
  const overrides = RewardComponents.toOverrides(switches, rewards)
  return {
    ...group,
    ...(overrides && { overrides }),
    masks: group.masks.map((mask, i) => Labels.ofMask(group.tokens[i]!, mask)),
    ...(group.inferenceLogprobs && { inferenceLogprobs: group.inferenceLogprobs.map(Labels.ofLogprobs) })
  }
}
