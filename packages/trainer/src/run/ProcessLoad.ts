/** Measures what this process uses between steps: all its threads, so also those of engines inside it. */
import { Effect, type Scope } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { StepMetrics } from "./StepMetrics.ts"

export type Figures = Pick<StepMetrics, "processors" | "memoryBytes" | "eventLoopSeconds">

/** Returns the load since the previous call. */
export type ProcessLoad = () => Figures

export const make: Effect.Effect<ProcessLoad, never, Scope.Scope> = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 10 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  let usage = process.cpuUsage()
  let at = performance.now()
  return () => {
    const used = process.cpuUsage(usage)
    const millis = performance.now() - at
    const figures = {
      ...(millis > 0 && { processors: (used.user + used.system) / 1000 / millis }),
      memoryBytes: process.memoryUsage.rss(),
      // Without a turn of the loop in between nothing was measured.
      ...(delay.count > 0 && { eventLoopSeconds: delay.percentile(99) / 1e9 })
    }
    usage = process.cpuUsage()
    at = performance.now()
    delay.reset()
    return figures
  }
})
