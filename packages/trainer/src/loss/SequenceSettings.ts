/** Sequence-level settings of an objective. */
import type { ScoreAdvantage } from "@atropos/core"

export interface SequenceSettings extends ScoreAdvantage.Rule {
  /**
   * True if sequences are samples of the policy, evaluated at their sampling temperature; sequences from elsewhere are
   * evaluated at the default one.
   */
  readonly isPolicyGradient: boolean
  /** Mask sequences that ended at the token limit (overlong filtering, DAPO, arXiv 2503.14476, section 3.4). */
  readonly maskTruncated: boolean
  /** Drop groups with equal scores, as if never sampled (dynamic sampling, DAPO, section 3.2). */
  readonly dropConstantGroups: boolean
  /**
   * True if each group is reduced to one pair: the first sequence with the highest score and the first with the lowest.
   */
  readonly needsPairs: boolean
}
