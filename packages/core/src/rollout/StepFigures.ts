import { Effect, Option } from "effect"
import * as RolloutMetrics from "./RolloutMetrics.ts"
import type { Session } from "./Session.ts"

/** Records metrics and the table of rollouts since the last call, unless too few groups were sent since. */
export const record = Effect.fnUntraced(function* (
  { environment, metrics, recorder, servers, settings, table }: Session,
  step: number
) {
  const min = settings.minItemsSentBeforeLogging
  if (min > 0 && metrics.sentSinceTaken() < min) return
  const own = yield* environment.metrics
  const figures = { ...metrics.take(), ...own, ...RolloutMetrics.serverFigures(yield* servers.metrics) }
  yield* Effect.logInfo("rollouts", { step, ...figures })
  yield* recorder.figures(step, figures)
  const rollouts = yield* table.take
  if (Option.isSome(rollouts)) yield* recorder.table(step, rollouts.value)
})
