/** Stored rollouts, for reading. */
import { Schema } from "effect"
import { measures } from "./Distributions.ts"
import { positive, rowId, wire } from "./Fields.ts"
import { GroupFigures } from "./GroupFigures.ts"
import { sorts } from "./RolloutOrder.ts"

const state = Schema.Literals(["buffered", "queued", "formed", "leased", "consumed"])

const rollout = {
  id: Schema.String,
  environment: Schema.NullOr(Schema.String),
  envId: Schema.NullOr(Schema.Int),
  step: Schema.NullOr(Schema.Int),
  state,
  createdAt: Schema.Finite,
  sequences: Schema.Int,
  tokens: Schema.Int,
  scores: Schema.Array(Schema.Finite),
  policyStep: Schema.NullOr(Schema.Int),
  /** The beginning of the last user message; null without messages, and until the group is indexed. */
  preview: Schema.NullOr(Schema.String),
  /** Null without messages, and until the group is indexed. */
  figures: Schema.NullOr(GroupFigures),
  /** The stable id of its item; null or absent if the sender stated none. */
  itemId: Schema.optionalKey(Schema.NullOr(Schema.String))
}

/** One stored group without its numbers. */
export const RolloutRow = wire(rollout)
export type RolloutRow = typeof RolloutRow.Type

/** A page of rollouts, newest first unless another order is requested; `next` is the `before` of the next page. */
export const RolloutPage = wire({
  rows: Schema.Array(RolloutRow),
  next: Schema.NullOr(Schema.String),
  /** Groups that match all filters; on the first page only, null on others. */
  total: Schema.NullOr(Schema.Int),
  /** Groups of the run whose text is not indexed yet; on the first page only, null on others. */
  unindexed: Schema.NullOr(Schema.Int)
})
export type RolloutPage = typeof RolloutPage.Type

/** A complete stored group: the original's object of 14 keys, `policy_versions`, `version_runs` and `timings`. */
export const Rollout = wire({ ...rollout, group: Schema.Unknown })
export type Rollout = typeof Rollout.Type

const flag = Schema.Literal("true")

/**
 * Filters and order of rollouts. The score is the mean of a group's scores; the step is that of its batch; `best…`
 * bounds its max score, `component…` its mean of the component named by `component`. With `sort`, `before` is the
 * number of rows before the page.
 */
export const RolloutQuery = wire({
  /** Only the newest run of the name, like its metrics: earlier ones have separate step counts. */
  newestRun: Schema.optionalKey(flag),
  environment: Schema.optionalKey(Schema.String),
  /** The stable id of an item, or the fingerprint of its prompt (`figures`). */
  item: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))),
  stepFrom: Schema.optionalKey(Schema.Int),
  stepTo: Schema.optionalKey(Schema.Int),
  scoreFrom: Schema.optionalKey(Schema.Finite),
  scoreTo: Schema.optionalKey(Schema.Finite),
  bestFrom: Schema.optionalKey(Schema.Finite),
  bestTo: Schema.optionalKey(Schema.Finite),
  /** Bounds of max minus min of its scores, and of their standard deviation. */
  disagreementFrom: Schema.optionalKey(Schema.Finite),
  disagreementTo: Schema.optionalKey(Schema.Finite),
  deviationFrom: Schema.optionalKey(Schema.Finite),
  deviationTo: Schema.optionalKey(Schema.Finite),
  /** Mean trained tokens of its rollouts. */
  lengthFrom: Schema.optionalKey(Schema.Finite),
  lengthTo: Schema.optionalKey(Schema.Finite),
  /** Step of its batch minus the policy's; absent for a group without a batch, or with an unknown policy. */
  stalenessFrom: Schema.optionalKey(Schema.Finite),
  stalenessTo: Schema.optionalKey(Schema.Finite),
  state: Schema.optionalKey(state),
  /** The first group of its item with a score above 0, after others without. */
  newlySolved: Schema.optionalKey(flag),
  /** With a tool result that is an error. */
  toolErrors: Schema.optionalKey(flag),
  /** With a rollout that ended at the token limit. */
  truncated: Schema.optionalKey(flag),
  component: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
  componentFrom: Schema.optionalKey(Schema.Finite),
  componentTo: Schema.optionalKey(Schema.Finite),
  /** Groups of the newest run of the name with a rollout whose score, advantage or length is within these bounds. */
  value: Schema.optionalKey(Schema.Literals(measures)),
  valueFrom: Schema.optionalKey(Schema.Finite),
  valueBelow: Schema.optionalKey(Schema.Finite),
  valueTo: Schema.optionalKey(Schema.Finite),
  text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  sort: Schema.optionalKey(Schema.Literals(sorts)),
  order: Schema.optionalKey(Schema.Literals(["ascending", "descending"])),
  before: Schema.optionalKey(rowId("a rollout")),
  limit: Schema.optionalKey(positive(1000))
})
export type RolloutQuery = typeof RolloutQuery.Type
