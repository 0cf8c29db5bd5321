/**
 * Groups findings by cause: a finding that follows from another one is shown below it, so that one cause is one card.
 * Pure.
 *
 * A finding follows from a graver one that is known to cause it, of the same source or the trainer, unless it began
 * well before.
 */
import { trainer, window } from "./Finding.ts"
import type { Found, RuleName } from "./Rules.ts"

export interface Card {
  readonly cause: Found
  readonly consequences: ReadonlyArray<Found>
}

const ofScores = ["collapse", "fall", "stuck", "skipped", "identical", "entropy_low", "entropy_high"] as const
const ofPolicy = ["divergence", "gradient", "length", "length_hacking", "truncation", "mismatch"] as const

/** Consequences of each rule; those with several causes belong to the first of these. */
const brings: ReadonlyArray<readonly [cause: RuleName, consequences: ReadonlyArray<RuleName>]> = [
  ["grader", [...ofScores, ...ofPolicy, "expected", "held_out", "out_of_range", "contradictions", "learning_rate"]],
  ["expected", [...ofScores, ...ofPolicy, "held_out", "out_of_range", "contradictions", "learning_rate"]],
  ["contradictions", [...ofScores, "held_out", "out_of_range"]],
  ["out_of_range", [...ofScores, "held_out"]],
  ["held_out", ofScores],
  ["learning_rate", [...ofScores, ...ofPolicy, "not_finite"]],
  ["not_finite", ["collapse", "fall", "entropy_low", "entropy_high", "divergence", "gradient"]],
  ["truncation", ["stuck", "skipped", "identical", "length"]],
  ["collapse", ["fall", "stuck", "skipped", "identical", "entropy_low", "entropy_high"]],
  ["failures", ["stuck"]],
  ["skipped", ["stuck", "identical"]],
  ["stuck", ["identical"]]
]

const isOf = (one: Found, cause: Found): boolean =>
  one.source === cause.source || one.source === trainer || cause.source === trainer

/** A rule over ten values locates its beginning a few steps early or late; one over noisy gains, many. */
const slackOf = ({ rule }: Found): number => (rule === "expected" ? window : window / 2)

const follows = (one: Found, cause: Found): boolean =>
  one !== cause &&
  isOf(one, cause) &&
  // When held-out items began to disagree lies before the evaluation that shows it.
  (cause.rule === "held_out" || one.from >= cause.from - slackOf(cause)) &&
  // A short deviation causes nothing later.
  (cause.steps === undefined || one.from <= cause.to + slackOf(cause)) &&
  (brings.find(([rule]) => rule === cause.rule)?.[1].includes(one.rule) ?? false)

/** The findings, gravest cause first, each with its consequences. */
export const cards = (findings: ReadonlyArray<Found>): ReadonlyArray<Card> => {
  const order = new Map(brings.map(([rule], index) => [rule, index]))
  const rank = ({ rule }: Found): number => order.get(rule) ?? brings.length
  const causes = findings.toSorted((left, right) => rank(left) - rank(right))
  const roots = new Map<Found, Found>()
  const rootOf = (one: Found): Found => roots.get(one) ?? one
  for (const cause of causes) {
    for (const one of findings)
      if (!roots.has(one) && rootOf(cause) !== one && follows(one, cause)) roots.set(one, rootOf(cause))
  }
  return findings
    .filter((one) => !roots.has(one))
    .map((cause) => ({ cause, consequences: findings.filter((one) => roots.get(one) === cause) }))
}
