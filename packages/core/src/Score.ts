/** What a rollout is worth: a number, or a number with what it is made of and what a trainer should know of it. */
import { type Rewards, type Rule, scoreOf } from "./RewardComponents.ts"
import type { Overrides } from "./ScoredGroup.ts"

/** What a score may say beside its number: token-level advantages (T), and switches for the trainer. */
export interface ScoreDetails {
  readonly advantages?: ArrayLike<number>
  readonly overrides?: Overrides
  /**
   * What the samples of an evaluation say beside the score: a lasting id of the item, the reference, the answer as it
   * was read. JSON; no trainer sees it.
   */
  readonly sample?: { readonly [name: string]: unknown }
}

/**
 * A number, or a number with details. With `rewards`, components that are kept apart, the number may be left out: it is
 * then their sum by the rule of the definition (`components`) and the setting `reward_weights`.
 */
export type Score =
  | number
  | (ScoreDetails & { readonly score: number; readonly rewards?: Rewards })
  | (ScoreDetails & { readonly score?: undefined; readonly rewards: Rewards })

/** A score whose number is known. */
export interface Judged extends ScoreDetails {
  readonly score: number
  readonly rewards?: Rewards
}

/** The score with its number: the one given, else that of its components. */
export const judged = (score: Score, rule: Rule): Judged =>
  typeof score === "number"
    ? { score }
    : score.score === undefined
      ? { ...score, score: scoreOf(score.rewards, rule) }
      : score
