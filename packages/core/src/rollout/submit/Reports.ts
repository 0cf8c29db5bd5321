/**
 * Sends periodic status reports of an environment for the viewer, and one soon after a failure.
 *
 * A report that cannot be sent is counted and replaced by the next.
 */
import { Clock, Duration, Effect, Latch } from "effect"
import * as Reason from "../../base/Reason.ts"
import type { ServerMetrics } from "../../inference/wire/Inference.ts"
import type { EnvironmentReport, ServerReport } from "../../service/TrajectoryApi.ts"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"

export interface Load {
  readonly running: () => number
  /** Groups the service has not answered for. */
  readonly unsent: () => number
  readonly finished: () => number
}

export interface Reports {
  /** Something failed: included in the next report, which is sent soon. */
  readonly failed: (reason: string) => Effect.Effect<void>
  /** A problem other than a failed rollout: reported as the last error. */
  readonly noted: (problem: string) => Effect.Effect<void>
  readonly send: (load: Load) => Effect.Effect<void>
  readonly run: (load: Load) => Effect.Effect<never>
  readonly unsent: () => number
}

const pause: Duration.Input = "5 seconds"
/** Min pause between reports. */
const minPause: Duration.Input = "1 second"
const timeout: Duration.Input = "5 seconds"
const minuteMillis = 60_000
const maxReasonLength = 1000

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

const serverReport = (metrics: ServerMetrics): ServerReport => {
  const isUsed = metrics.count > 0
  return {
    server: metrics.server.slice(0, maxReasonLength),
    split: metrics.split,
    healthy: metrics.healthy,
    inFlight: metrics.inFlight,
    ...(Number.isFinite(metrics.limit) && { limit: metrics.limit }),
    latencyMean: isUsed ? finite(metrics.latencyMean) : null,
    latencyP95: isUsed ? finite(metrics.latencyP95) : null,
    tokensPerSecond: isUsed ? finite(metrics.tokensPerSecond) : null,
    failures: metrics.failures
  }
}

export const make = (options: {
  readonly send: (report: EnvironmentReport) => Effect.Effect<void, TrajectoryError>
  readonly servers: Effect.Effect<ReadonlyArray<ServerMetrics>>
}): Reports => {
  const news = Latch.makeUnsafe(false)
  let failures = 0
  let lastError: EnvironmentReport["lastError"] = null
  let unsent = 0
  /** Finished items at times within the last minute, oldest first. */
  const counts: Array<{ readonly at: number; readonly finished: number }> = []

  const itemsPerMinute = (now: number, finished: number): number => {
    counts.push({ at: now, finished })
    while (counts.length > 2 && counts[1]!.at <= now - minuteMillis) counts.shift()
    const [first] = counts
    const last = counts.at(-1)
    if (first === undefined || last === undefined || last.at === first.at) return 0
    return ((last.finished - first.finished) * minuteMillis) / (last.at - first.at)
  }

  const note = (cause: unknown) => {
    unsent++
    return (unsent === 1 ? Effect.logWarning : Effect.logDebug)("report could not be sent to the service", {
      reason: Reason.of(cause)
    })
  }

  const report = Effect.fnUntraced(function* (load: Load) {
    news.closeUnsafe()
    const now = yield* Clock.currentTimeMillis
    yield* options.send({
      running: load.running(),
      unsent: load.unsent(),
      itemsPerMinute: itemsPerMinute(now, load.finished()),
      failures,
      lastError,
      servers: (yield* options.servers).map(serverReport)
    })
  })
  const noted = (problem: string): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      lastError = { at, message: problem.slice(0, maxReasonLength) }
      news.openUnsafe()
    })
  const send: Reports["send"] = (load) =>
    report(load).pipe(Effect.timeout(timeout), Effect.catch(note), Effect.catchDefect(note))

  return {
    send,
    unsent: () => unsent,
    failed: (reason) =>
      Effect.suspend(() => {
        failures++
        return noted(reason)
      }),
    noted,
    run: (load) =>
      Effect.forever(
        Effect.andThen(send(load), Effect.andThen(Effect.sleep(minPause), Effect.timeoutOption(news.await, pause)))
      )
  }
}
