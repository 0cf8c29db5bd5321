/**
 * Ends a run that nobody watches once a rule of its health is broken (`stop_on`): by the trainer's own figures, and by
 * those of environments where they are in the same process. What was learned until then is saved. A resumed run begins
 * without a past.
 */
import * as Health from "@atropos/core/health/Health"
import { Effect, Schema } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import * as StepMetrics from "./StepMetrics.ts"

/** Rules that a trainer's own figures suffice for. */
export const rules = [
  "grader",
  "learning_rate",
  "collapse",
  "not_finite",
  "skipped",
  "fall",
  "entropy_low",
  "entropy_high",
  "divergence",
  "gradient",
  "mismatch",
  "truncation",
  "identical"
] as const satisfies ReadonlyArray<Health.RuleName>

const named = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** The rules of a setting, the gravest first. */
export const rulesOf = (text: string): ReadonlyArray<Health.RuleName> => {
  const names = new Set(named(text))
  return Health.ruleNames.filter((rule) => names.has(rule))
}

/** It is judged at the end of a step: a run that takes none ends by no rule. */
const known = Health.ruleNames.filter((name) => name !== "stalled")

/** Names of rules, separated by commas. */
export const Names = Schema.String.check(
  Schema.makeFilter((text: string) => {
    const unknown = named(text).find((name) => !known.some((rule) => rule === name))
    return unknown === undefined || `${unknown} is no rule that ends a run: ${known.join(", ")}`
  })
)

/** What is wrong with a setting where environments are in other processes; undefined where nothing is. */
export const problem = (text: string): string | undefined => {
  const beyond = rulesOf(text).find((name) => !rules.some((rule) => rule === name))
  return beyond === undefined
    ? undefined
    : `stop_on ${beyond} looks at what environments record, which a trainer alone does not see: it works with up; ` +
        `here ${rules.join(", ")} do`
}

export interface StopOn {
  /** Adds a step; whether the run should end with it. */
  readonly see: (metrics: StepMetrics.StepMetrics) => boolean
  /** Fails where it was ended. */
  readonly end: Effect.Effect<void, TrainerError>
}

/** Of the names in a setting. */
export const make = (names: string, recorder: Health.Recorder = Health.recorder()): StopOn => {
  const wanted = rulesOf(names)
  let found: Health.Found | undefined
  return {
    see: (metrics) => {
      if (wanted.length === 0) return false
      recorder.see("trainer", metrics.step, StepMetrics.values(metrics))
      found = Health.judge(recorder.recorded, wanted)[0]
      return found !== undefined
    },
    end: Effect.suspend(() =>
      found === undefined
        ? Effect.void
        : Effect.fail(new TrainerError({ reason: "stopped", message: `stopped by stop_on. ${Health.inWords(found)}` }))
    )
  }
}
