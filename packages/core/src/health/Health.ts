/**
 * Judges the health of a run: what is wrong according to its metrics, since when, by which rule. Pure; one definition
 * for the viewer, terminal displays and the trainer (`--stop_on`).
 *
 * Rules use means over the last ten values, and name the step since which they hold; past problems are only reported
 * for single steps (NaN, a gradient spike). Missing metrics trigger no rule. A fully learned run is not unhealthy
 * (`Learned`).
 */
import type { Card } from "./Causes.ts"
import type { Finding, Rule } from "./Finding.ts"
import * as FailureRules from "./FailureRules.ts"
import * as GraderRules from "./GraderRules.ts"
import * as PolicyRules from "./PolicyRules.ts"
import * as RateRule from "./RateRule.ts"
import * as RewardRules from "./RewardRules.ts"
import type { Recorded } from "./Series.ts"
import * as StalledRule from "./StalledRule.ts"

export type { Finding, Rule } from "./Finding.ts"
export { correlation, finite, mean, type Recorded, type Series } from "./Series.ts"
export { type Card, cards } from "./Causes.ts"
export { isInDoubt } from "./GraderRules.ts"
export * as Activity from "./Activity.ts"
export { type Course, courseOf } from "./Course.ts"
export { make as recorder, type Recorder } from "./Recorder.ts"
export { atFirst, percent, standing, window, written } from "./Finding.ts"

/** By name, gravest first. */
export const rules = {
  stalled: StalledRule.stalled,
  grader: GraderRules.grader,
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

/** All findings, gravest first. */
export const judge = (recorded: Recorded, names: ReadonlyArray<RuleName> = ruleNames): ReadonlyArray<Found> =>
  names.flatMap((rule) => rules[rule].judge(recorded).map((finding) => ({ rule, ...finding })))

/** Stable key of a finding while the problem lasts. */
export const keyOf = ({ component, metric, rule, source }: Found): string =>
  [rule, source, metric, component].join("\n")

/** `Reward collapsed (collapse): Reward fell at step 61: …` */
export const inWords = ({ rule, says }: Found): string => `${rules[rule].title} (${rule}): ${says}`

/** Like `inWords`, with consequences: `… (with it: Steps skipped, Environment stuck)` */
export const cardInWords = ({ cause, consequences }: Card): string =>
  consequences.length === 0
    ? inWords(cause)
    : `${inWords(cause)} With it: ${[...new Set(consequences.map(({ rule }) => rules[rule].title))].join(", ")}.`
