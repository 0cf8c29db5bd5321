/**
 * Handles finished items: counts them, sends their groups, logs and shows failures, and writes dead letters for
 * abandoned ones. Each then reports progress, so that a restart repeats only unfinished items.
 */
import { Effect } from "effect"
import type { GroupSender } from "./GroupSender.ts"
import * as LogThrottle from "../base/LogThrottle.ts"
import type { Failure, Task } from "./pool/Task.ts"
import type { Outcomes } from "./pool/WorkerPool.ts"
import type { Session } from "./Session.ts"
import type { Viewers } from "./submit/Viewers.ts"

export const make = (
  { deadLetters, metrics, progress }: Session,
  groups: GroupSender,
  viewers: Pick<Viewers, "failed">
): Outcomes => {
  const reasons = LogThrottle.make()

  const onFailure = Effect.fnUntraced(function* (
    task: Task,
    { cause, kind, reason }: Failure,
    millis: number,
    isFinal: boolean
  ) {
    const { failures, index, work } = task
    metrics.item(kind, millis)
    const times = reasons.count(reason)
    if (LogThrottle.isWorthLogging(times)) {
      yield* Effect.logWarning("rollout failed", { item: work.label, kind, reason, attempt: failures, times })
    }
    yield* Effect.logDebug("cause of the failed rollout", cause)
    yield* viewers.failed(`${work.label}: ${reason}`)
    if (!isFinal) return
    metrics.item("given_up", millis)
    yield* deadLetters.item({ index, item: work.label, attempts: failures, reason })
    progress.end(task)
  })

  return {
    onStart: progress.begin,
    onDone: (task, rolledOut, millis) => {
      metrics.item("succeeded", millis)
      return groups.send(task, rolledOut)
    },
    onUnscorable: (task, error, millis) => {
      metrics.item("unscorable", millis)
      progress.end(task)
      return groups.skip(task.work.label, error)
    },
    onFailure
  }
}
