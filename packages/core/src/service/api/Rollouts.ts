/** Stored rollouts, for reading. */
import { Schema } from "effect"
import { positive, rowId, wire } from "./Fields.ts"

const rollout = {
  id: Schema.String,
  environment: Schema.NullOr(Schema.String),
  envId: Schema.NullOr(Schema.Int),
  step: Schema.NullOr(Schema.Int),
  state: Schema.Literals(["buffered", "queued", "formed", "leased", "consumed"]),
  createdAt: Schema.Finite,
  sequences: Schema.Int,
  tokens: Schema.Int,
  scores: Schema.Array(Schema.Finite),
  policyStep: Schema.NullOr(Schema.Int),
  /** The beginning of the last user message; null without messages, and until the group is indexed. */
  preview: Schema.NullOr(Schema.String)
}

/** One stored group without its numbers. */
export const RolloutRow = wire(rollout)
export type RolloutRow = typeof RolloutRow.Type

/** A page of rollouts, newest first; `next` is the `before` of the page after. */
export const RolloutPage = wire({
  rows: Schema.Array(RolloutRow),
  next: Schema.NullOr(Schema.String),
  /** Groups that match all filters; told on the first page, null on others. */
  total: Schema.NullOr(Schema.Int),
  /** Groups of the run whose text is not searched yet; told on the first page, null on others. */
  unindexed: Schema.NullOr(Schema.Int)
})
export type RolloutPage = typeof RolloutPage.Type

/** A stored group with everything in it: the original's object of 14 keys and `policy_versions`. */
export const Rollout = wire({ ...rollout, group: Schema.Unknown })
export type Rollout = typeof Rollout.Type

/** Which rollouts. The score is the mean of a group's scores; the step is that of its batch. */
export const RolloutQuery = wire({
  environment: Schema.optionalKey(Schema.String),
  stepFrom: Schema.optionalKey(Schema.Int),
  stepTo: Schema.optionalKey(Schema.Int),
  scoreFrom: Schema.optionalKey(Schema.Finite),
  scoreTo: Schema.optionalKey(Schema.Finite),
  text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  before: Schema.optionalKey(rowId("a rollout")),
  limit: Schema.optionalKey(positive(1000))
})
export type RolloutQuery = typeof RolloutQuery.Type
