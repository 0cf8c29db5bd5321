/** The rule for a run without progress, as judged by the service (`Activity`). */
import * as Activity from "./Activity.ts"
import { type Rule, trainer } from "./Finding.ts"
import type { Recorded } from "./Series.ts"

const lastStep = (recorded: Recorded): number =>
  ["reward/mean", "train/loss", "train/scores_mean"].reduce((last, metric) => {
    const of = recorded
      .sourcesOf(metric)
      .map((source) => Number(Array.from(recorded.points(source, metric).steps).at(-1)))
    return Math.max(last, ...of.filter(Number.isFinite))
  }, 0)

export const stalled: Rule = {
  title: "Run stalled",
  words:
    "no step, group or metrics for a minute or ten step times (ten minutes before the first step and while the trainer works on a batch), although a process of the run is alive; or its processes ended before the last step without deregistering",
  judge: (recorded) => {
    const activity = recorded.activity?.()
    if (activity === undefined) return []
    const { environment, idleSeconds, reason, state } = activity
    if (state !== "stalled" && (state !== "stopped" || reason === null)) return []
    const step = lastStep(recorded)
    const idle = Activity.span(idleSeconds)
    return [
      {
        severity: "broken",
        source: environment ?? trainer,
        metric: "",
        from: step,
        to: step,
        says: `${state === "stalled" ? `No progress for ${idle}` : `Stopped ${idle} ago`}${reason === null ? "" : `: ${reason}`}.`
      }
    ]
  }
}
