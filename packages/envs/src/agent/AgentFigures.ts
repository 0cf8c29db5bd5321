/** Counts session outcomes of an agent per step. */
import type * as Gateway from "@atropos/core/gateway/Gateway"
import { Effect } from "effect"
import type { FailureKind, Outcome } from "./Outcome.ts"

export interface AgentFigures {
  /** `stopReasons`: of the turns of a run over ACP. */
  readonly add: (
    outcome: Outcome<unknown>,
    counts: ReadonlyArray<Gateway.SessionCounts>,
    stopReasons?: ReadonlyArray<string>
  ) => void
  /** Counts a session that ended well but has no reward. */
  readonly addUnrewarded: () => void
  /** The counts since the last call. */
  readonly take: Effect.Effect<{ readonly [name: string]: number }>
}

export const make = (): AgentFigures => {
  let sessions = 0
  let paths = 0
  let rewritten = 0
  let branched = 0
  let retried = 0
  let seeded = 0
  let untrained = 0
  const failures: Record<FailureKind, number> = { threw: 0, timeout: 0, silent: 0, unrewarded: 0 }
  let stops: Map<string, number> | undefined
  return {
    add: (outcome, counts, stopReasons) => {
      if (stopReasons !== undefined) stops ??= new Map()
      for (const reason of stopReasons ?? []) stops?.set(reason, (stops.get(reason) ?? 0) + 1)
      sessions++
      paths += outcome.trajectories.length
      for (const one of counts) {
        rewritten += one.rewritten
        branched += one.branched
        retried += one.retried
        seeded += one.overridden["seed"] ?? 0
        untrained += one.untrained
      }
      if (outcome._tag === "Failed") failures[outcome.kind]++
    },
    addUnrewarded: () => void failures.unrewarded++,
    take: Effect.sync(() => {
      const { silent, threw, timeout, unrewarded } = failures
      const taken = {
        "agent/sessions": sessions,
        "agent/failed": threw + timeout + silent + unrewarded,
        "agent/threw": threw,
        "agent/timeouts": timeout,
        "agent/silent": silent,
        "agent/unrewarded": unrewarded,
        "agent/branched": branched,
        "agent/rewritten": rewritten,
        "agent/retried": retried,
        "agent/seeded": seeded,
        "agent/untrained": untrained,
        ...(sessions > 0 && { "agent/paths": paths / sessions }),
        ...(stops !== undefined && {
          "agent/stopped_end_turn": stops.get("end_turn") ?? 0,
          "agent/stopped_max_tokens": stops.get("max_tokens") ?? 0,
          "agent/stopped_max_turn_requests": stops.get("max_turn_requests") ?? 0,
          "agent/stopped_refusal": stops.get("refusal") ?? 0,
          "agent/stopped_cancelled": stops.get("cancelled") ?? 0
        })
      }
      sessions = paths = rewritten = branched = retried = seeded = untrained = 0
      stops?.clear()
      for (const kind of ["threw", "timeout", "silent", "unrewarded"] as const) failures[kind] = 0
      return taken
    })
  }
}
