/** Distributions of scores, advantages and lengths of rollouts, by step. */
import { Schema } from "effect"
import { wire } from "./Fields.ts"

/** Lengths are trained tokens; advantages follow the run's rule. */
export const measures = ["score", "advantage", "length"] as const

export const DistributionQuery = wire({
  measure: Schema.Literals(measures),
  environment: Schema.optionalKey(Schema.String)
})
export type DistributionQuery = typeof DistributionQuery.Type

/**
 * A histogram per column of steps, all with the same bins: equal widths from `low` to `high`, the last one including
 * its upper end. Covers the newest 10,000 groups that are in a batch.
 */
export const Distribution = wire({
  low: Schema.Finite,
  high: Schema.Finite,
  bins: Schema.Natural,
  groups: Schema.Natural,
  /** By ascending step; 0 for bins without rollouts. Steps without groups have no column. */
  columns: Schema.Array(wire({ from: Schema.Int, to: Schema.Int, counts: Schema.Array(Schema.Natural) }))
})
export type Distribution = typeof Distribution.Type
