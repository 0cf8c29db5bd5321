/** Follows the metrics of some runs while the page is open. */
import { useEffect, useMemo, useSyncExternalStore } from "react"
import { useSession, useSource } from "../state/SourceContext.tsx"
import * as RunMetrics from "./RunMetrics.ts"

export const useRunMetrics = (names: ReadonlyArray<string>): RunMetrics.RunMetrics => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const metrics = useMemo(
    () => RunMetrics.make({ source, onUnauthorized: reportUnauthorized, onFrame: requestAnimationFrame }),
    // A new token reloads everything.
    // oxlint-disable-next-line react/exhaustive-deps
    [source, reportUnauthorized, epoch]
  )
  useEffect(() => () => metrics.close(), [metrics])
  const key = names.join("\n")
  useEffect(() => metrics.choose(key === "" ? [] : key.split("\n")), [metrics, key])
  return metrics
}

/** The current runs: renders on every change. */
export const useRunStates = (metrics: RunMetrics.RunMetrics): ReadonlyArray<RunMetrics.RunState> =>
  useSyncExternalStore(metrics.subscribe, metrics.states)

/** The runs by structure: renders when a run, source or metric is added, not for every row. */
export const useRunShapes = (metrics: RunMetrics.RunMetrics): readonly [string, ReadonlyArray<RunMetrics.RunState>] => {
  const shape = useSyncExternalStore(metrics.subscribe, metrics.shape)
  // oxlint-disable-next-line react/exhaustive-deps
  const runs = useMemo(() => metrics.states(), [metrics, shape])
  return [shape, runs]
}
