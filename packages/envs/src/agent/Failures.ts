/** Logs failed runs once per reason, and counts all of them. */
import { ItemLabel } from "@atropos/core"
import { Effect } from "effect"
import type { AnyAgent } from "./AgentDefinition.ts"
import type { Failed } from "./Outcome.ts"

export interface Failures {
  readonly report: (item: unknown, failed: Failed) => Effect.Effect<void>
  /** Explains why an item has no group, with the newest reason. */
  readonly summary: (runs: number, kept: number) => string
}

export const labelOf = (agent: Pick<AnyAgent, "label">, item: unknown): string =>
  agent.label?.(item) ?? ItemLabel.of(item)

/** Maximum number of distinct reasons logged; more are only counted. */
const max = 100

/** `label` describes an item in a few words. */
export const make = (agent: string, label: (item: unknown) => string = ItemLabel.of): Failures => {
  const logged = new Set<string>()
  let newest = ""
  return {
    report: (item, { kind, reason }) =>
      Effect.suspend(() => {
        newest = reason
        const isKnown = logged.has(reason) || logged.size >= max
        logged.add(reason)
        return isKnown
          ? Effect.logDebug("a run of the agent failed", { agent, kind, reason })
          : Effect.logWarning("a run of the agent failed; repetitions are only counted", {
              agent,
              kind,
              reason,
              item: label(item).slice(0, 200)
            })
      }),
    summary: (runs, kept) =>
      kept === 0
        ? `${runs === 1 ? "the run" : `all ${runs} runs`} of the agent failed; last failure: ${newest}`
        : `only one of ${runs} runs of the agent has a score, so it cannot be compared; last failure: ${newest}`
  }
}
