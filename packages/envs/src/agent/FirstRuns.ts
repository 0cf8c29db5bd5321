/**
 * Ends an agent whose first runs all failed, so that a mistake in its file costs a few runs and not a night.
 *
 * Runs that never reached the model count in evaluations too, and few of them are enough: each may have asked a paid
 * provider instead. Runs that reached it and then threw, timed out or had no reward count in training alone, and more
 * are needed, since a weak model may just fail often. After the first usable run nothing is counted any more.
 */
import { EnvironmentUnusable } from "@atropos/core/EnvironmentError"
import { Effect } from "effect"
import type { Failed } from "./Outcome.ts"

export interface FirstRuns {
  /** A run whose result can be used. */
  readonly succeeded: () => void
  /** Counts a failed run; fails once there were too many and nothing else, and ever after. */
  readonly failed: (run: FailedRun) => Effect.Effect<void, EnvironmentUnusable>
}

export interface FailedRun {
  readonly outcome: Pick<Failed, "kind" | "reason">
  /** Whether a request of it came to the gateway. */
  readonly hasReached: boolean
  /** Whether one of them was answered. */
  readonly hasAnswers: boolean
  readonly isTraining: boolean
}

const advice = "requests must go to model.baseURL (OpenAI's SDKs) or model.anthropicBaseURL (Anthropic's)"

/** `groupSize` runs make an item. */
export const make = (groupSize: number): FirstRuns => {
  const maxUnreached = Math.max(16, 4 * groupSize)
  const maxFailed = 4 * maxUnreached
  let isUsable = false
  let hasReached = false
  let unreached = 0
  let failures = 0

  const fault = ({ kind, reason }: FailedRun["outcome"]): string | undefined => {
    if (!hasReached && unreached >= maxUnreached) {
      const why = kind === "silent" ? reason : `the last failure: ${reason}; ${advice}`
      return `none of the first ${unreached} runs of the agent reached the model: ${why}`
    }
    return failures >= maxFailed
      ? `none of the first ${failures} runs of the agent succeeded, so there is nothing to train on; the last failure: ${reason}. If failing is to be unlearned, score it by scoreFailure`
      : undefined
  }
  return {
    succeeded: () => {
      isUsable = true
    },
    failed: ({ hasAnswers, hasReached: reached, isTraining, outcome }) =>
      Effect.suspend(() => {
        if (isUsable) return Effect.void
        hasReached ||= reached
        if (!reached) unreached++
        // A run whose time ended while its first request waited says something about the servers, not about the agent.
        const isWaiting = reached && !hasAnswers && outcome.kind === "timeout"
        if (isTraining && !isWaiting) failures++
        const message = fault(outcome)
        return message === undefined ? Effect.void : new EnvironmentUnusable({ message })
      })
  }
}
