/**
 * Limits the number of rollouts in progress: the original's formulas (atroposlib/envs/base.py, `add_train_workers`,
 * `env_manager`) as pure functions of the queue's state.
 *
 * Differences, to waste no sampled rollouts: the limits count groups on their way to the queue (in progress, or not
 * acknowledged), which reaches the original's final size without its overshoot; lowering a limit cancels nothing;
 * `max_batches_offpolicy = 0` means one batch in progress or queued, where the original never rolls out at all;
 * `max_num_workers` also limits reserved shares.
 */
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type * as EnvironmentSettings from "../definition/EnvironmentSettings.ts"

export type EvaluationHandling = EnvironmentSettings.Common["evalHandling"]

/** Max concurrent items, excluding evaluation: `max_num_workers`, or workers per node times servers. */
export const maximumWorkers = (
  settings: Pick<EnvironmentSettings.Common, "maxNumWorkers" | "maxNumWorkersPerNode">,
  serverCount: number
): number =>
  settings.maxNumWorkers >= 0 ? settings.maxNumWorkers : settings.maxNumWorkersPerNode * Math.max(1, serverCount)

/** Max concurrent items, with or without an evaluation running. */
export const workerLimit = (
  settings: Pick<
    EnvironmentSettings.Common,
    "maxNumWorkers" | "maxNumWorkersPerNode" | "evalHandling" | "evalLimitRatio"
  >,
  serverCount: number,
  isEvaluating: boolean
): number => {
  const maximum = maximumWorkers(settings, serverCount)
  if (!isEvaluating || settings.evalHandling === "NONE") return maximum
  return settings.evalHandling === "STOP_TRAIN" ? 0 : Math.trunc(maximum * settings.evalLimitRatio)
}

/** Sequences of a batch that this environment may fill: the unreserved ones and its own share. */
export const derivedBatchSize = (
  batchSize: number,
  unallocatedFraction: number,
  minBatchAllocation: number | null
): number => Math.trunc(batchSize * (unallocatedFraction + (minBatchAllocation ?? 0)))

export interface QueueState {
  readonly batchSize: number
  /**
   * Share of the batches this environment fills, 0 to 1, if several of one program are weighted; 1: it competes for
   * them.
   */
  readonly share?: number
  readonly groupSize: number
  readonly maxBatchesOffpolicy: number
  readonly minBatchAllocation: number | null
  readonly status: Pick<EnvironmentStatus, "queueSize" | "selfQueueSize" | "maxGroupSize" | "unallocatedFraction">
}

/** Groups that may be on their way to the queue, by the off-policy cap and the reserved share. */
export const queueCapacity = (state: QueueState): number => {
  const { batchSize, groupSize, maxBatchesOffpolicy, minBatchAllocation, share = 1, status } = state
  const derived =
    share < 1 ? batchSize * share : derivedBatchSize(batchSize, status.unallocatedFraction, minBatchAllocation)
  // Synchronous mode: one whole batch, so rounded up; shares too, or their sum may fall short of a batch; otherwise the
  // original's floor.
  const round = maxBatchesOffpolicy <= 0 || share < 1 ? Math.ceil : Math.floor
  const shared = round((Math.max(1, maxBatchesOffpolicy) * derived) / groupSize) - queuedOf(status, share)
  return minBatchAllocation === null ? shared : Math.max(shared, reservedCapacity(state, minBatchAllocation))
}

/** Groups that count against the limit: the whole queue, or the environment's own with a share. */
const queuedOf = (
  { queueSize, selfQueueSize }: Pick<EnvironmentStatus, "queueSize" | "selfQueueSize">,
  share: number
): number => (share < 1 ? selfQueueSize : queueSize)

/** Groups needed to fill the reserved share of every batch even if others overfill the queue. */
const reservedCapacity = (
  { batchSize, groupSize, maxBatchesOffpolicy, status }: QueueState,
  minBatchAllocation: number
): number => {
  const batches = Math.max(1, maxBatchesOffpolicy)
  const pack = Math.max(1, status.maxGroupSize)
  const perPack = Math.floor(pack / groupSize)
  const packs = Math.ceil((minBatchAllocation * batchSize * batches) / pack)
  const isFull = status.queueSize * groupSize >= batches * batchSize
  if (isFull && packs * perPack - status.selfQueueSize <= 0) return 0
  const queued = Math.floor((pack * status.selfQueueSize) / (pack / groupSize))
  return Math.max(0, Math.ceil(((packs + perPack) * pack - queued) / groupSize))
}

/** An environment's part of the batches: a subinterval of [0, 1], disjoint from the others'. */
export interface Part {
  readonly from: number
  readonly to: number
  /**
   * True if the groups of all parts have one size: the parts of a step are then whole groups that together form the
   * batch.
   */
  readonly isEven: boolean
}

export const whole: Part = { from: 0, to: 1, isEven: true }

/** What a weight of -1 counts as, as in the original. */
const minWeight = 0.01

/** Adjacent parts of environments by their weights, in order; the whole interval for each if all weights are 0. */
export const partsOf = (
  environments: ReadonlyArray<Pick<EnvironmentSettings.Common, "inferenceWeight" | "groupSize">>
): ReadonlyArray<Part> => {
  const bounds = [0]
  for (const { inferenceWeight: weight } of environments)
    bounds.push(bounds.at(-1)! + (weight < 0 ? minWeight : weight))
  const sum = bounds.at(-1)!
  if (sum <= 0) return environments.map(() => whole)
  const isEven = new Set(environments.map(({ groupSize }) => groupSize)).size === 1
  return environments.map((_, index) => ({ from: bounds[index]! / sum, to: bounds[index + 1]! / sum, isEven }))
}

/**
 * Groups that may be on their way to the queue so that none is sampled from weights more than `stepsAhead` steps stale.
 */
export const policyCapacity = (
  version: number,
  stepsAhead: number,
  {
    batchSize,
    groupSize,
    part = whole,
    status
  }: Pick<QueueState, "batchSize" | "groupSize"> & {
    readonly part?: Part
    readonly status: Pick<EnvironmentStatus, "currentStep" | "queueSize" | "selfQueueSize">
  }
): number => {
  // A step counts once its batch is handed out: the current step is already counted.
  const [first, last] = [status.currentStep, version + 1 + stepsAhead]
  const { from, isEven, to } = part
  if (!isEven || to - from >= 1) {
    const groups = Math.ceil(((last - first) * batchSize * (to - from)) / groupSize)
    return Math.max(0, groups) - queuedOf(status, to - from)
  }
  let groups = 0
  for (let step = first; step < last; step++) groups += groupsOfStep(step, Math.ceil(batchSize / groupSize), part)
  return groups - queuedOf(status, to - from)
}

/**
 * Groups of a step that belong to a part. Neighbours share a bound, so rounding up one part takes from the next; a
 * bound that falls between two groups is rounded up or down per step, as often as its fraction requires.
 */
const groupsOfStep = (step: number, groups: number, { from, to }: Part): number => {
  const phase = (step * goldenRatio) % 1
  return Math.ceil(groups * to + phase) - Math.ceil(groups * from + phase)
}

/** Its multiples are spread most evenly modulo 1. */
const goldenRatio = (Math.sqrt(5) - 1) / 2

/**
 * Extra groups beyond the limits: one, if the queue may not form a batch because group sizes differ from `group_size`
 * (8 groups of 8 make a batch of 64, but not with one of 7 among them) and nothing in progress can complete it. At most
 * one batch is queued beyond the cap.
 */
export const oddCapacity = (
  steps: { readonly total: number; readonly version: number | undefined },
  {
    batchSize,
    groupSize,
    maxBatchesOffpolicy,
    status,
    underWay
  }: Pick<QueueState, "batchSize" | "groupSize" | "maxBatchesOffpolicy"> & {
    readonly status: Pick<EnvironmentStatus, "currentStep" | "queueSize">
    readonly underWay: number
  }
): number => {
  const { total, version } = steps
  const isOver = total > 0 && status.currentStep >= total
  // The current step is followed by another, whose batch may already be queued.
  const isWaiting = version === undefined || version >= status.currentStep
  const isShort = status.queueSize < (Math.max(1, maxBatchesOffpolicy) + 1) * Math.ceil(batchSize / groupSize)
  return underWay === 0 && status.queueSize > 0 && isWaiting && isShort && !isOver ? 1 : 0
}

/**
 * Groups still missing until `total_steps` are trained on, including queued ones; Infinity if unknown because others
 * share the queue or sizes differ (then only the step determines the end).
 */
export const groupsUntilEnd = (
  totalSteps: number,
  batchSize: number,
  groupSize: number,
  status: Pick<EnvironmentStatus, "currentStep" | "queueSize" | "selfQueueSize" | "maxGroupSize">
): number => {
  const steps = totalSteps - status.currentStep
  if (steps <= 0) return 0
  const isAlone = status.queueSize === status.selfQueueSize && status.maxGroupSize <= groupSize
  return isAlone ? Math.ceil((steps * batchSize) / groupSize) - status.queueSize : Number.POSITIVE_INFINITY
}
