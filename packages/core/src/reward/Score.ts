/** The score of a rollout: a number, optionally with its components and details for the trainer. */
import { type Rewards, type Rule, scoreOf } from "./RewardComponents.ts"
import type { Overrides } from "../trajectory/ScoredGroup.ts"

/** Details of a score: token-level advantages (T), and switches for the trainer. */
export interface ScoreDetails {
  readonly advantages?: ArrayLike<number>
  readonly overrides?: Overrides
  /**
   * Data for evaluation samples: a stable id of the item, the reference, the parsed answer. JSON; not sent to trainers.
   */
  readonly sample?: { readonly [name: string]: unknown }
}

/**
 * A number, or a number with details. With `rewards` (separate components), the number may be omitted: it is then
 * computed by the definition's rule (`components`) and the setting `reward_weights`.
 */
export type Score =
  | number
  | (ScoreDetails & { readonly score: number; readonly rewards?: Rewards })
  | (ScoreDetails & { readonly score?: undefined; readonly rewards: Rewards })

export interface Judged extends ScoreDetails {
  readonly score: number
  readonly rewards?: Rewards
}

/** Resolves the number of a score: the given one, else that of its components. */
export const judged = (score: Score, rule: Rule): Judged =>
  typeof score === "number"
    ? { score }
    : score.score === undefined
      ? { ...score, score: scoreOf(score.rewards, rule) }
      : score
