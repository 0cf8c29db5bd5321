/**
 * Metrics of a stored group other than its scores.
 *
 * Computed after a group is stored, by the search indexer; until then, and for groups without chats, they are absent.
 */
import { Schema } from "effect"
import { wire } from "./Fields.ts"

export const GroupFigures = wire({
  /** A fingerprint of its prompt (`~` and 16 digits), for items without a stable id; null without messages. */
  prompt: Schema.NullOr(Schema.String),
  /** Mean trained tokens per rollout. */
  length: Schema.Finite,
  /** Trained tokens of the longest rollout with the best score. */
  longestBest: Schema.Finite,
  /** Share of the rollouts that ended at the token limit. */
  truncated: Schema.Finite,
  /** Tool results that are errors, over all rollouts. */
  toolErrors: Schema.Int,
  /** Nats: mean negative logprob of a trained token in the least likely rollout; null if unknown. */
  surprise: Schema.NullOr(Schema.Finite),
  /** Like `surprise`, for the least likely of the best rollouts. */
  surpriseBest: Schema.NullOr(Schema.Finite),
  /** Unweighted means of the reward's components over the rollouts that have them. */
  components: Schema.Record(Schema.String, Schema.Finite),
  /** Trained tokens of each rollout, in the group's order. */
  lengths: Schema.Array(Schema.Int),
  /**
   * Fingerprints of everything after the prompt in each rollout (12 digits), equal for equal text; none without
   * messages. Prefixed by `=` if the answer is the expected one, if the environment states it.
   */
  answers: Schema.Array(Schema.String),
  /** The beginning of the expected answer, on one line; absent if the environment states none. */
  expected: Schema.optionalKey(Schema.String)
})
export type GroupFigures = typeof GroupFigures.Type
