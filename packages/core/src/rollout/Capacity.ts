/**
 * Computes how many rollouts may start now: the minimum over workers, queue, end of the run and, optionally, weights;
 * at a staleness bound, the permits granted by the service.
 */
import { Effect, Stream } from "effect"
import type * as EnvironmentSettings from "../definition/EnvironmentSettings.ts"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import * as Concurrency from "./Concurrency.ts"
import type { OnPolicy } from "./Options.ts"
import type { Permits } from "./Permits.ts"
import type { QueueView } from "./QueueView.ts"

export interface Options {
  readonly settings: EnvironmentSettings.Common
  readonly serverCount: number
  readonly onPolicy: OnPolicy | undefined
  /** The current part of the batches: the whole if no other environment of the program competes. */
  readonly part: () => Concurrency.Part
  readonly batchSize: () => number
  readonly totalSteps: number
  readonly queue: QueueView
  readonly permits: Pick<Permits, "within">
  readonly submitter: { readonly isBlocked: () => boolean; readonly unsent: () => number }
  readonly isEvaluating: () => boolean
  /** True if groups of sizes other than `group_size` were sent. */
  readonly hasOddGroups: () => boolean
  /** The capacity may have increased. */
  readonly onChange: () => void
}

export interface Capacity {
  /** Remaining capacity, given the number running. */
  readonly left: (running: number) => number
  readonly follow: Effect.Effect<void>
}

export const make = (options: Options): Capacity => {
  const {
    batchSize,
    hasOddGroups,
    isEvaluating,
    onChange,
    onPolicy,
    part,
    permits,
    queue,
    serverCount,
    settings,
    submitter,
    totalSteps
  } = options
  const { groupSize, maxBatchesOffpolicy, minBatchAllocation } = settings
  let policyVersion = 0

  const ofPolicy = (status: EnvironmentStatus): number =>
    onPolicy === undefined
      ? Number.POSITIVE_INFINITY
      : Concurrency.policyCapacity(policyVersion, onPolicy.stepsAhead, {
          batchSize: batchSize(),
          groupSize,
          part: part(),
          status
        })

  return {
    left: (running) => {
      const status = queue.status()
      if (status === undefined || submitter.isBlocked()) return 0
      const { from, to } = part()
      const underWay = running + submitter.unsent() + queue.uncounted()
      const capacity = Math.min(
        ofPolicy(status),
        Concurrency.queueCapacity({
          batchSize: batchSize(),
          groupSize,
          maxBatchesOffpolicy,
          minBatchAllocation,
          share: to - from,
          status
        }),
        Concurrency.groupsUntilEnd(totalSteps, batchSize(), groupSize, status)
      )
      const steps = { total: totalSteps, version: onPolicy && policyVersion }
      const max =
        capacity <= 0 && hasOddGroups()
          ? Concurrency.oddCapacity(steps, { batchSize: batchSize(), groupSize, maxBatchesOffpolicy, status, underWay })
          : capacity
      if (max <= underWay) queue.doubt()
      const workers = Concurrency.workerLimit(settings, serverCount, isEvaluating())
      return permits.within(Math.min(workers - running, max - underWay), running + submitter.unsent())
    },
    follow: Stream.runForEach(onPolicy?.versions ?? Stream.never, (version) =>
      Effect.sync(() => {
        policyVersion = version
        onChange()
      })
    )
  }
}
