/**
 * A small reward for the form of an answer, by the setting `form_reward`: off by default, because it pays for answers
 * that are wrong. With it a model that is never right yet still has groups whose scores differ, and learns to give its
 * answer where it is read.
 *
 * The component `form` of a wrong answer is 1 if a box can be read after the thinking, 0.5 if there is a number at
 * least, else 0; right answers have none, so that they score as ever and above every wrong one.
 */
import { Environment, MathAnswer, type RewardComponents, Thinking } from "@atropos/core"
import { Schema } from "effect"

export const field = Environment.field(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  0,
  "added to a wrong answer's score for its form: whole for an answer in a box, half for any number; for models that are never right at first, such as 0.2"
)

/** The form of an answer, whatever it says. */
const formOf = (answer: string): number => {
  if (MathAnswer.extract(answer, MathAnswer.boxedOptions) !== undefined) return 1
  return /\d/.test(Thinking.spoken(answer)) ? 0.5 : 0
}

/** Components of an answer with its form, where that is paid for and the answer is not right. */
export const add = (rewards: RewardComponents.Rewards, answer: string, formReward: number): RewardComponents.Rewards =>
  formReward === 0 || rewards["correct"] !== 0 ? rewards : { ...rewards, form: formOf(answer) }

/** The rule of an environment's components with what it pays for the form. */
export const ruleOf = (rule: RewardComponents.Rule, formReward: number): RewardComponents.Rule =>
  formReward === 0 ? rule : { ...rule, weights: { ...rule.weights, form: formReward } }
