/** Shows the state of a run: running, stalled, stopped or done; loading, interrupted or saved if that is not known. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import type { RunState } from "../metrics/RunMetrics.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import * as Format from "../ui/Format.ts"
import type * as Headline from "./Headline.ts"

export interface RunStatus {
  readonly run: RunState
  readonly headline: Headline.Headline
  /** The last activity reported by the service; undefined if unsupported. */
  readonly activity: Wire.Run["activity"]
}

const words: { readonly [State in RunState["live"]]: string } = {
  connecting: "connecting",
  live: "running",
  waiting: "interrupted",
  static: "saved"
}

/** True if steps are expected. */
export const isMoving = ({ activity, run }: RunStatus): boolean =>
  run.live !== "waiting" && (activity === undefined || activity.state === "running" || activity.state === "starting")

/** Describes the state of a run, with the time since it last moved. */
export const describe = ({ idle_seconds, state }: NonNullable<Wire.Run["activity"]>): string =>
  state === "stalled" || state === "stopped"
    ? `${state} ${TimeSpan.format(idle_seconds)}${state === "stopped" ? " ago" : ""}`
    : state

export const Liveness = ({ activity, headline: { step, totalSteps }, run }: RunStatus) => {
  const { stepOf } = useSource()
  // The last rows may not have arrived before the service ended.
  const last = run.live === "waiting" ? Math.max(step ?? 0, stepOf(run.name) ?? 0) : step
  const isDone = last !== null && totalSteps !== null && last >= totalSteps
  if (run.phase === "failed") return <span className="falling">{run.error?.message ?? "failed"}</span>
  if (run.phase === "loading") return <span>loading, {Format.count(run.loaded)} rows so far</span>
  if (isDone) return <span className="liveness is-done">done</span>
  // Unknown while the service does not answer.
  if (activity === undefined || run.live === "waiting") {
    return <span className={`liveness ${run.live}`}>{words[run.live]}</span>
  }
  return (
    <span className={`liveness ${run.live} is-${activity.state}`} title={activity.reason ?? undefined}>
      {describe(activity)}
    </span>
  )
}
