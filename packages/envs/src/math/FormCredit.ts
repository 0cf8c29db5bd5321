/**
 * Adds a small reward for the form of an answer, by the setting `form_reward`: off by default, because it rewards wrong
 * answers. With it a model that is never right yet still has groups with different scores, and learns to put its answer
 * in the box.
 *
 * The component `form` of a wrong answer is 1 if a box can be read after the thinking, 0.5 if there is at least a
 * number, else 0; right answers do not have it, so that their scores are unchanged and above those of every wrong one.
 */
import { Environment, type RewardComponents } from "@atropos/core"
import * as MathAnswer from "../verify/math/MathAnswer.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Schema } from "effect"

export const field = Environment.field(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  0,
  "added to a wrong answer's score for its form: whole for an answer in a box, half for any number; for models that are never right at first, such as 0.2"
)

/** The form of an answer, regardless of its value. */
const formOf = (answer: string): number => {
  if (MathAnswer.extract(answer, MathAnswer.boxedOptions) !== undefined) return 1
  return /\d/.test(Thinking.visibleText(answer)) ? 0.5 : 0
}

/** Adds the form of an answer to its components, if form credit is on and the answer is wrong. */
export const add = (rewards: RewardComponents.Rewards, answer: string, formReward: number): RewardComponents.Rewards =>
  formReward === 0 || rewards["correct"] !== 0 ? rewards : { ...rewards, form: formOf(answer) }

/** The rule of an environment's components with the weight of the form. */
export const ruleOf = (rule: RewardComponents.Rule, formReward: number): RewardComponents.Rule =>
  formReward === 0 ? rule : { ...rule, weights: { ...rule.weights, form: formReward } }
