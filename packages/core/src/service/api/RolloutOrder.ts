/** By what lists of groups can be ordered. Without imports: browsers have it too. */

/**
 * By what groups can be ordered. Of the scores: `mean`, `best`, `disagreement` (highest minus lowest) and `deviation`;
 * `staleness` is the step of the batch minus the policy's that sampled; `state` is how far a group has come;
 * `component` is the one that the query names. What is unknown comes last.
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
