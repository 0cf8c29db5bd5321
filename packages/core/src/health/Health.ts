/**
 * Judges the health of a run: what is wrong according to its metrics, since when, by which rule. Pure; one definition
 * for the viewer, terminal displays and the trainer (`--stop_on`).
 *
 * Rules use means over the last ten values, and name the step since which they hold; past problems are only reported
 * for single steps (NaN, a gradient spike). Missing metrics trigger no rule. A fully learned run is not unhealthy
 * (`Learned`).
 */
import type { Card } from "./Causes.ts"
import { type Found, type RuleName, ruleNames, rules } from "./Rules.ts"
import type { Recorded } from "./Series.ts"

export type { Finding, Rule } from "./Finding.ts"
export { type Found, type RuleName, ruleNames, rules } from "./Rules.ts"
export { correlation, finite, mean, type Recorded, type Series } from "./Series.ts"
export { type Card, cards } from "./Causes.ts"
export { isInDoubt } from "./GraderRules.ts"
export * as Activity from "./Activity.ts"
export { type Course, courseOf } from "./Course.ts"
export { make as recorder, type Recorder } from "./Recorder.ts"
export { atFirst, percent, standing, window, written } from "./Finding.ts"

/** All findings, gravest first. */
export const judge = (recorded: Recorded, names: ReadonlyArray<RuleName> = ruleNames): ReadonlyArray<Found> =>
  names.flatMap((rule) => rules[rule].judge(recorded).map((finding) => ({ rule, ...finding })))

/** Stable key of a finding while the problem lasts. */
export const keyOf = ({ component, metric, rule, source }: Found): string =>
  [rule, source, metric, component].join("\n")

/** `Reward collapsed (collapse): Reward fell at step 61: …` */
export const inWords = ({ rule, message }: Found): string => `${rules[rule].title} (${rule}): ${message}`

/** Like `inWords`, with consequences: `… (with it: Steps skipped, Environment stuck)` */
export const cardInWords = ({ cause, consequences }: Card): string =>
  consequences.length === 0
    ? inWords(cause)
    : `${inWords(cause)} With it: ${[...new Set(consequences.map(({ rule }) => rules[rule].title))].join(", ")}.`
