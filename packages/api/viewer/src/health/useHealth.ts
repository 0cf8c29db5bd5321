/** What is wrong with a run, as its metrics come: the same array until something else is. */
import * as Health from "@atropos/core/health/Health"
import { useMemo, useSyncExternalStore } from "react"
import type { RunMetrics } from "../run/RunMetrics.ts"

export type Finding = ReturnType<typeof Health.judge>[number]

const none: ReadonlyArray<Finding> = []

const follow = (metrics: RunMetrics, run: string): (() => ReadonlyArray<Finding>) => {
  let judged = -1
  let findings = none
  return () => {
    const table = metrics.states().find(({ name }) => name === run)?.table
    if (table === undefined) return none
    if (table.version() === judged) return findings
    judged = table.version()
    const found = Health.judge(table)
    if (JSON.stringify(found) !== JSON.stringify(findings)) findings = found
    return findings
  }
}

export const useHealth = (metrics: RunMetrics, run: string): ReadonlyArray<Finding> => {
  const findings = useMemo(() => follow(metrics, run), [metrics, run])
  return useSyncExternalStore(metrics.subscribe, findings)
}
