/**
 * A scored group in the wires' form: labels instead of masks, 1 instead of a logprob where nothing was sampled
 * (`Labels`), and reward components in `overrides[i].rewards`. Data passed from one wire to another stays in this form,
 * so that labels that are neither the token nor -100 are preserved; other code uses a `ScoredGroup`.
 */
import * as Labels from "../../trajectory/Labels.ts"
import * as RewardComponents from "../../reward/RewardComponents.ts"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"

export interface LabelledGroup extends Omit<ScoredGroup, "masks" | "rewards"> {
  /** (G, T_i) the token id where trained, -100 elsewhere; or any mask the sender uses. */
  readonly masks: ReadonlyArray<Int32Array>
}

export const toScoredGroup = ({ overrides, ...group }: LabelledGroup): ScoredGroup => ({
  ...group,
  ...RewardComponents.ofOverrides(overrides),
  masks: group.masks.map((labels, i) => Labels.toMask(group.tokens[i]!, labels)),
  ...(group.inferenceLogprobs && { inferenceLogprobs: group.inferenceLogprobs.map(Labels.toLogprobs) })
})

export const ofScoredGroup = ({ overrides: switches, rewards, ...group }: ScoredGroup): LabelledGroup => {
  const overrides = RewardComponents.toOverrides(switches, rewards)
  return {
    ...group,
    ...(overrides && { overrides }),
    masks: group.masks.map((mask, i) => Labels.ofMask(group.tokens[i]!, mask)),
    ...(group.inferenceLogprobs && { inferenceLogprobs: group.inferenceLogprobs.map(Labels.ofLogprobs) })
  }
}
