/** Logs failed runs once per reason, counts all of them, and logs their number at the end. */
import { ItemLabel } from "@atropos/core"
import { Effect } from "effect"
import type { AnyAgent } from "./AgentDefinition.ts"
import type { Failed } from "./Outcome.ts"

export interface Failures {
  readonly report: (item: unknown, failed: Failed) => Effect.Effect<void>
  /** Logs how many of all runs failed, with the most frequent reason; nothing if none did. */
  readonly total: (runs: number) => Effect.Effect<void>
}

export const labelOf = (agent: Pick<AnyAgent, "label">, item: unknown): string =>
  agent.label?.(item) ?? ItemLabel.of(item)

/** Maximum number of distinct reasons logged and counted; of more only their number is known. */
const max = 100

/** `label` describes an item in a few words. */
export const make = (agent: string, label: (item: unknown) => string = ItemLabel.of): Failures => {
  const times = new Map<string, number>()
  let failed = 0
  return {
    report: (item, { kind, reason }) =>
      Effect.suspend(() => {
        failed++
        const before = times.get(reason) ?? 0
        const isKnown = before > 0 || times.size >= max
        if (before > 0 || !isKnown) times.set(reason, before + 1)
        return isKnown
          ? Effect.logDebug("a run of the agent failed", { agent, kind, reason })
          : Effect.logWarning("a run of the agent failed; repetitions are only counted", {
              agent,
              kind,
              reason,
              item: label(item).slice(0, 200)
            })
      }),
    total: (runs) =>
      Effect.suspend(() => {
        const [most] = [...times].sort(([, left], [, right]) => right - left)
        if (most === undefined) return Effect.void
        const [reason, count] = most
        return Effect.logWarning("failed runs of the agent in total", { agent, failed, runs, times: count, reason })
      })
  }
}

/** Explains why an item has no group, from its runs: a failed one is its reason. */
export const summary = (runs: ReadonlyArray<unknown>): string => {
  const lastFailure = runs.findLast((run) => typeof run === "string")
  const areFailed = runs.every((run) => typeof run === "string")
  const what = areFailed
    ? `${runs.length === 1 ? "the run" : `all ${runs.length} runs`} of the agent failed`
    : `only one of ${runs.length} runs of the agent has a score, so it cannot be compared`
  return lastFailure === undefined ? what : `${what}; last failure: ${lastFailure}`
}
