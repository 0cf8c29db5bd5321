/** Sort orders of lists of groups. Without imports, because browsers use it too. */

/**
 * Sort keys of groups. Of the scores: `mean`, `best`, `disagreement` (max minus min) and `deviation`; `staleness` is
 * the step of the batch minus that of the sampling policy; `state` is how far a group has come; `component` is the one
 * named by the query. Unknown values come last.
 */
export const sorts = [
  "mean",
  "best",
  "disagreement",
  "deviation",
  "length",
  "longest_best",
  "truncated",
  "tool_errors",
  "staleness",
  "surprise",
  "surprise_best",
  "state",
  "item",
  "component"
] as const

export type Sort = (typeof sorts)[number]
