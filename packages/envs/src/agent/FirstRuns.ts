/**
 * Stops an agent whose first runs all failed, so that a mistake in its file costs a few runs instead of a night.
 *
 * Runs that never reached the model count in evaluations too, and the limit is low: each may have called a paid
 * provider instead. If all requests of a group are refused, so would be the next group's. Runs that reached it and then
 * threw, timed out or had no reward count in training only, and the limit is higher, since a weak model may fail often.
 * After the first usable run nothing is counted any more.
 */
import { EnvironmentUnusable } from "@atropos/core/definition/EnvironmentError"
import { Effect } from "effect"
import type { Failed } from "./Outcome.ts"

export interface FirstRuns {
  readonly succeeded: () => void
  /** Counts a failed run; fails once the limit is reached without a usable run, and on every call after that. */
  readonly failed: (run: FailedRun) => Effect.Effect<void, EnvironmentUnusable>
}

export interface FailedRun {
  readonly outcome: Pick<Failed, "kind" | "reason">
  /** True if one of its requests arrived at the gateway. */
  readonly hasReached: boolean
  /** True if one of them was answered. */
  readonly hasAnswers: boolean
  /** True if all of them were refused for what they ask for, which no later run changes. */
  readonly isRefused: boolean
  readonly isTraining: boolean
}

/** What runs the agent: a function or a program of the user, or an environment that users do not change. */
export type Runner = "function" | "program" | "built-in"

const ofFunctions = {
  unreached: "; requests must go to model.baseURL (OpenAI's SDKs) or model.anthropicBaseURL (Anthropic's)",
  failed: ". To penalize failures, set scoreFailure"
}

/** An item takes `groupSize` runs; those of a program cannot differ in whether they reach the model. */
export const make = (groupSize: number, runner: Runner = "function"): FirstRuns => {
  const advice = runner === "function" ? ofFunctions : { unreached: "", failed: "" }
  const max = Math.max(16, 4 * groupSize)
  const maxUnreached = runner === "program" ? groupSize : max
  const maxFailed = 4 * max
  let isUsable = false
  let hasReached = false
  let unreached = 0
  let failures = 0
  let refused = 0

  const fault = ({ kind, reason }: FailedRun["outcome"]): string | undefined => {
    if (!hasReached && unreached >= maxUnreached) {
      const why = kind === "silent" ? reason : `last failure: ${reason}${advice.unreached}`
      return `none of the first ${unreached} runs of the agent reached the model: ${why}`
    }
    if (refused >= groupSize) return `the requests of the first ${refused} runs were all refused: ${reason}`
    return failures >= maxFailed
      ? `none of the first ${failures} runs of the agent succeeded, so there is nothing to train on; last failure: ${reason}${advice.failed}`
      : undefined
  }
  return {
    succeeded: () => {
      isUsable = true
    },
    failed: ({ hasAnswers, hasReached: reached, isRefused, isTraining, outcome }) =>
      Effect.suspend(() => {
        if (isUsable) return Effect.void
        hasReached ||= reached
        if (!reached) unreached++
        if (isRefused) refused++
        // A run that timed out while its first request waited is a problem of the servers, not of the agent.
        const isWaiting = reached && !hasAnswers && outcome.kind === "timeout"
        if (isTraining && !isWaiting) failures++
        const message = fault(outcome)
        return message === undefined ? Effect.void : new EnvironmentUnusable({ message })
      })
  }
}
