/** What an objective asks of the sequences it is computed over. */
import type { ScoreAdvantage } from "@atropos/core"

export interface SequenceSettings extends ScoreAdvantage.Rule {
  /**
   * Whether they are samples of the policy, to be seen at the temperature they were sampled at; what others wrote is
   * seen at the usual one.
   */
  readonly isPolicyGradient: boolean
  /**
   * Sequences that ended at the token limit teach nothing (overlong filtering, DAPO, arXiv 2503.14476, section 3.4).
   */
  readonly maskTruncated: boolean
  /** Groups whose scores are all equal are left out, as if never sampled (dynamic sampling, DAPO, section 3.2). */
  readonly dropConstantGroups: boolean
  /**
   * Whether a group gives one pair, the first of its sequences with the highest score and the first with the lowest,
   * and its others are left out.
   */
  readonly needsPairs: boolean
}
