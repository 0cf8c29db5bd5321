/** Counts the outcomes of the groups read: rows written, and drops by reason. Plain data, saved with the checkpoint. */
import { Schema } from "effect"

export const Counts = Schema.Struct({
  groups: Schema.Natural,
  /** Groups that gave at least one row. */
  groupsUsed: Schema.Natural,
  sequences: Schema.Natural,
  train: Schema.Natural,
  validation: Schema.Natural,
  /** Sequences without a row (for pairs: that were not the better one), by reason. */
  dropped: Schema.Record(Schema.String, Schema.Natural),
  faults: Schema.Natural,
  /** Scores of the rows (for pairs: of the better sequences). */
  scores: Schema.Struct({
    sum: Schema.Finite,
    minimum: Schema.NullOr(Schema.Finite),
    maximum: Schema.NullOr(Schema.Finite)
  }),
  /** Rows whose completion has several turns. */
  severalTurns: Schema.Natural
})
export type Counts = typeof Counts.Type

export const empty: Counts = {
  groups: 0,
  groupsUsed: 0,
  sequences: 0,
  train: 0,
  validation: 0,
  dropped: {},
  faults: 0,
  scores: { sum: 0, minimum: null, maximum: null },
  severalTurns: 0
}

export const rows = ({ train, validation }: Counts): number => train + validation

export const reasons: { readonly [reason: string]: string } = {
  score_not_positive: "the score is 0 or less (--allow-negative-scores keeps it)",
  spread_too_small: "not above the group's lowest score by more than --minimum-score-diff-max-min",
  beyond_top_n: "the group has better sequences (--save-top-n-per-group)",
  beyond_n_pairs: "the group has better pairs (--save-n-pairs-per-group)",
  no_worse_sequence: "no unused sequence of the group is worse by more than --minimum-score-diff-max-min",
  beyond_the_number: "--num-seqs-to-save was reached",
  duplicate: "the same row was written before (--dedupe)",
  too_long: "more tokens than --max-token-len",
  no_messages: "the group came without messages",
  no_tokens: "the group came without tokens (--text-from messages, or --save-messages)",
  nothing_written: "the mask or the chat contains no model output",
  template_misfit: "the chat template does not render the prompt as a prefix of the whole",
  template_omits: "the chat template does not write all of the chat: tool calls, results, system messages or reasoning",
  prompts_differ: "the two sequences answer different prompts",
  same_completion: "the two completions are the same",
  pictures: "the chat has pictures or other parts that text cannot represent (--save-messages)",
  not_unicode: "a text has half of a surrogate pair, which is not Unicode: readers of data sets refuse the whole file",
  unclear_mask: "the mask omits turns, and it is unclear which (--tokenizer counts the tokens of each)",
  untrained_turn: "the mask omits a turn within the completion, which TRL would train on (--format axolotl marks it)",
  several_messages:
    "the answer is not a single message of text alone (no calls, no reasoning), as Axolotl's pairs require",
  unknown_role: "a message has a role unknown to Axolotl",
  gone: "no longer in the service"
}
