/**
 * Ends a run once a selected health rule is broken (`stop_on`), judged by the trainer's metrics and those of
 * environments in the same process. Progress is saved. A resumed run starts without history.
 */
import * as Health from "@atropos/core/health/Health"
import { Effect, Schema } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import * as StepMetrics from "./StepMetrics.ts"

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

/** Rules named in a setting, most severe first. */
export const rulesOf = (text: string): ReadonlyArray<Health.RuleName> => {
  const names = new Set(named(text))
  return Health.ruleNames.filter((rule) => names.has(rule))
}

/** Rules are judged at the end of a step by its metrics: those that judge what the service knows could end no run. */
const known = Health.ruleNames.filter((name) => name !== "stalled" && name !== "lost")

export const Names = Schema.String.check(
  Schema.makeFilter((text: string) => {
    const unknown = named(text).find((name) => !known.some((rule) => rule === name))
    return unknown === undefined || `${unknown} is not a health rule that can end a run: ${known.join(", ")}`
  })
)

/** Error for a setting that needs environments in this process; undefined if none. */
export const problem = (text: string): string | undefined => {
  const beyond = rulesOf(text).find((name) => !rules.some((rule) => rule === name))
  return beyond === undefined
    ? undefined
    : `stop_on ${beyond} needs metrics of environments, which a trainer alone does not have: it works with up; ` +
        `here ${rules.join(", ")} do`
}

export interface StopOn {
  /** Records a step; returns true if the run should end with it. */
  readonly see: (metrics: StepMetrics.StepMetrics) => boolean
  /** Fails if a rule ended the run. */
  readonly end: Effect.Effect<void, TrainerError>
}

export const make = (names: string, recorder: Health.Recorder = Health.recorder()): StopOn => {
  const rules = rulesOf(names)
  let found: Health.Found | undefined
  return {
    see: (metrics) => {
      if (rules.length === 0) return false
      recorder.see("trainer", metrics.step, StepMetrics.values(metrics))
      found = Health.judge(recorder.recorded, rules)[0]
      return found !== undefined
    },
    end: Effect.suspend(() =>
      found === undefined
        ? Effect.void
        : Effect.fail(new TrainerError({ reason: "stopped", message: `stopped by stop_on. ${Health.inWords(found)}` }))
    )
  }
}
