/** Judges a run's health as its metrics arrive; returns the same array until something changes. */
import * as Health from "@atropos/core/health/Health"
import { useMemo, useSyncExternalStore } from "react"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import type * as Wire from "../source/Wire.ts"

export type Finding = ReturnType<typeof Health.judge>[number]

const none: ReadonlyArray<Finding> = []

const activityOf = ({ environment, errors, idle_seconds, reason, state }: NonNullable<Wire.Run["activity"]>) => ({
  state,
  idleSeconds: idle_seconds,
  reason,
  environment,
  errors
})

const follow = (metrics: RunMetrics, run: string, activity: Wire.Run["activity"]): (() => ReadonlyArray<Finding>) => {
  const known = activity && activityOf(activity)
  let judged = -1
  let findings = none
  return () => {
    const table = metrics.states().find(({ name }) => name === run)?.table
    if (table === undefined) return none
    if (table.version() === judged) return findings
    judged = table.version()
    const { names, points, sourcesOf } = table
    const found = Health.judge({ names, points, sourcesOf, activity: () => known })
    if (JSON.stringify(found) !== JSON.stringify(findings)) findings = found
    return findings
  }
}

/** `activity` is the last one reported by the service. */
export const useHealth = (metrics: RunMetrics, run: string, activity: Wire.Run["activity"]): ReadonlyArray<Finding> => {
  const findings = useMemo(() => follow(metrics, run, activity), [metrics, run, activity])
  return useSyncExternalStore(metrics.subscribe, findings)
}
