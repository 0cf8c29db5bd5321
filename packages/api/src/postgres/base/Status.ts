/**
 * Computes the queue status of an environment by the original's formulas (`get_status_env` in
 * atroposlib/api/server.py). Pure.
 */
import { StalenessBound, type TrajectoryApi } from "@atropos/core"
import type { RegisteredEnvironment, Run } from "../../store/TrajectoryStore.ts"

/** Queued groups of one environment and size. */
export interface QueuedCount {
  readonly envId: number | null
  readonly sequences: number
  readonly groups: number
  readonly bytes: number
}

export interface QueueView {
  readonly run: Run
  readonly environments: ReadonlyArray<RegisteredEnvironment>
  readonly queued: ReadonlyArray<QueuedCount>
  /** Batches whose weights samplers do not have yet, and sequences in progress at environments. */
  readonly ahead: { readonly untrained: number; readonly underWay: number }
}

/**
 * The sequences in progress at the run's environments, and how many more they may start; null without a staleness
 * bound.
 */
export const bound = ({ ahead, queued, run }: QueueView): NonNullable<TrajectoryApi.QueueSummary["bound"]> | null => {
  const { batchSize, waitAtStaleness = null } = run
  if (waitAtStaleness === null) return null
  const bounded = { maxStaleness: waitAtStaleness, batchSize, untrained: ahead.untrained, queued }
  return {
    maxStaleness: waitAtStaleness,
    underWay: ahead.underWay,
    startable: Math.max(0, StalenessBound.capacity(bounded, ahead.underWay))
  }
}

/** The status, and the group size the environment now counts as having. */
export const status = (
  view: QueueView,
  environment: RegisteredEnvironment
): TrajectoryApi.EnvironmentStatus & { readonly groupSize: number } => {
  const { environments, queued, run } = view
  let totalWeight = 0
  let allocated = 0
  const floors = new Map<number, number>()
  for (const { connected, envId, maxTokenLength, minBatchAllocation, weight } of environments) {
    if (!connected) continue
    totalWeight += maxTokenLength * Math.max(0, weight)
    if (minBatchAllocation === null) continue
    allocated += minBatchAllocation
    floors.set(envId, Math.trunc(run.batchSize * minBatchAllocation))
  }

  let maxGroupSize = 1
  let own = 0
  let { groupSize } = environment
  const others = new Map<number | null, number>()
  for (const { envId, groups, sequences } of queued) {
    maxGroupSize = Math.max(maxGroupSize, sequences)
    if (envId === environment.envId) {
      own += groups * sequences
      groupSize = Math.max(groupSize, sequences)
    } else {
      others.set(envId, (others.get(envId) ?? 0) + groups * sequences)
    }
  }
  let otherSequences = 0
  // Like the original: if every group has one sequence, groups of other sizes are not counted.
  if (maxGroupSize > 1) {
    for (const [envId, sequences] of others) {
      const packed = Math.ceil(sequences / maxGroupSize) * maxGroupSize
      otherSequences += Math.max(0, packed - (envId === null ? 0 : (floors.get(envId) ?? 0)))
    }
  }
  // The original divides by zero if no connected environment has a weight; here they get equal shares.
  const share =
    totalWeight > 0
      ? (environment.maxTokenLength * environment.weight) / totalWeight
      : 1 / Math.max(1, environments.filter(({ connected }) => connected).length)
  const unit = Math.max(1, groupSize)
  const waiting = bound(view)
  return {
    currentStep: run.currentStep,
    queueSize: Math.floor((own + otherSequences) / unit),
    selfQueueSize: Math.floor(own / unit),
    maxGroupSize,
    envWeight: Math.max(0.01, share),
    unallocatedFraction: 1 - Math.min(1, allocated),
    ...(waiting !== null && { startable: waiting.startable }),
    groupSize
  }
}
