/**
 * What is known of a stored group beside its scores.
 *
 * Figures are found after a group is stored, by whoever reads it for searches; until then, and of groups without chats,
 * there are none.
 */
import { Schema } from "effect"
import { wire } from "./Fields.ts"

export const GroupFigures = wire({
  /** A fingerprint of its prompt (`~` and 16 digits), for items without a lasting id; null without messages. */
  prompt: Schema.NullOr(Schema.String),
  /** Trained tokens of a rollout, on average. */
  length: Schema.Finite,
  /** Trained tokens of the longest rollout with the best score. */
  longestBest: Schema.Finite,
  /** Share of the rollouts that ended at the token limit. */
  truncated: Schema.Finite,
  /** Results of tools that are errors, over all rollouts. */
  toolErrors: Schema.Int,
  /** Nats: how unlikely a trained token was on average, in the least likely rollout; null where not told. */
  surprise: Schema.NullOr(Schema.Finite),
  /** The same in the least likely of the best rollouts. */
  surpriseBest: Schema.NullOr(Schema.Finite),
  /** Means of the reward's components over the rollouts that have them, before any weight. */
  components: Schema.Record(Schema.String, Schema.Finite),
  /** Trained tokens of each rollout, in the group's order. */
  lengths: Schema.Array(Schema.Int),
  /**
   * Fingerprints of what rollouts have behind the prompt (12 digits): alike where it is; none without messages. `=`
   * before one whose answer is the expected one, where the environment says what is.
   */
  answers: Schema.Array(Schema.String)
})
export type GroupFigures = typeof GroupFigures.Type
