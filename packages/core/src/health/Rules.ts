/** The table of all rules of a run's health. */
import type { Finding, Rule } from "./Finding.ts"
import * as FailureRules from "./FailureRules.ts"
import * as GraderRules from "./GraderRules.ts"
import * as PolicyRules from "./PolicyRules.ts"
import * as RateRule from "./RateRule.ts"
import * as RewardRules from "./RewardRules.ts"
import * as StalledRule from "./StalledRule.ts"

/** By name, gravest first. */
export const rules = {
  stalled: StalledRule.stalled,
  grader: GraderRules.grader,
  expected: GraderRules.expected,
  contradictions: GraderRules.contradictions,
  out_of_range: GraderRules.outOfRange,
  held_out: GraderRules.heldOut,
  failures: FailureRules.failures,
  learning_rate: RateRule.learningRate,
  collapse: RewardRules.collapse,
  not_finite: PolicyRules.notFinite,
  truncation: PolicyRules.truncation,
  skipped: PolicyRules.skipped,
  stuck: RewardRules.stuck,
  length_hacking: RewardRules.lengthHacking,
  fall: RewardRules.fall,
  entropy_low: PolicyRules.entropyLow,
  entropy_high: PolicyRules.entropyHigh,
  divergence: PolicyRules.divergence,
  gradient: PolicyRules.gradient,
  mismatch: PolicyRules.mismatch,
  length: PolicyRules.length,
  identical: RewardRules.zeroVariance
} as const satisfies { readonly [name: string]: Rule }

export type RuleName = keyof typeof rules

// Object.keys loses the literal types.
export const ruleNames = Object.keys(rules) as ReadonlyArray<RuleName> as readonly [
  RuleName,
  ...ReadonlyArray<RuleName>
]

export type Found = Finding & { readonly rule: RuleName }
