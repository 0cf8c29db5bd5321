/**
 * Ends a run that nobody watches once a rule of its health is broken by the trainer's own figures (`stop_on`). What was
 * learned until then is saved. A resumed run begins without a past.
 */
import * as Health from "@atropos/core/health/Health"
import { Effect, Schema } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import * as StepMetrics from "./StepMetrics.ts"

/** Rules that a trainer's own figures suffice for. */
export const rules = [
  "collapse",
  "not_finite",
  "skipped",
  "fall",
  "entropy_low",
  "entropy_high",
  "divergence",
  "gradient",
  "mismatch",
  "identical"
] as const satisfies ReadonlyArray<Health.RuleName>

const named = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** Names of rules, separated by commas. */
export const Names = Schema.String.check(
  Schema.makeFilter((text: string) => {
    const unknown = named(text).find((name) => !rules.some((rule) => rule === name))
    return unknown === undefined || `${unknown} is no rule that a trainer can be stopped by: ${rules.join(", ")}`
  })
)

export interface StopOn {
  /** Adds a step; whether the run should end with it. */
  readonly see: (metrics: StepMetrics.StepMetrics) => boolean
  /** Fails where it was ended. */
  readonly end: Effect.Effect<void, TrainerError>
}

/** What a trainer has told, step by step, as the rules of health look at it. */
export const recorder = () => {
  const columns = new Map<string, { readonly steps: Array<number>; readonly values: Array<number> }>()
  const recorded: Health.Recorded = {
    names: () => [...columns.keys()],
    sourcesOf: (metric) => (columns.has(metric) ? ["trainer"] : []),
    points: (_, metric) => columns.get(metric) ?? { steps: [], values: [] }
  }
  return {
    see: (metrics: StepMetrics.StepMetrics): void => {
      for (const [name, value] of Object.entries(StepMetrics.values(metrics))) {
        const column = columns.get(name) ?? { steps: [], values: [] }
        columns.set(name, column)
        column.steps.push(metrics.step)
        column.values.push(value)
      }
    },
    /** What is wrong by these rules, in words, the gravest first. */
    findings: (names: ReadonlyArray<Health.RuleName>): ReadonlyArray<string> =>
      Health.judge(recorded, names).map(({ rule, says }) => `${Health.rules[rule].title} (${rule}): ${says}`)
  }
}

/** Of the names in a setting. */
export const make = (names: string): StopOn => {
  const wanted = rules.filter((rule) => named(names).includes(rule))
  const { findings, see } = recorder()
  let found: string | undefined
  return {
    see: (metrics) => {
      if (wanted.length === 0) return false
      see(metrics)
      found = findings(wanted)[0]
      return found !== undefined
    },
    end: Effect.suspend(() =>
      found === undefined
        ? Effect.void
        : Effect.fail(new TrainerError({ reason: "stopped", message: `stopped by stop_on. ${found}` }))
    )
  }
}
