/**
 * How many rollouts may be under way: the original's formulas (atroposlib/envs/base.py, `add_train_workers`,
 * `env_manager`) as pure functions of the queue's state.
 *
 * Differences, all of them about work that is paid for: the limits say how many groups may be on their way to the queue
 * (rolling out, or not yet acknowledged), so that the queue ends where the original's ends without its overshoot;
 * lowering a limit starts nothing new and cancels nothing; `max_batches_offpolicy = 0` means one batch under way or
 * queued, where the original never rolls out at all; `max_num_workers` holds for reserved shares too.
 */
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type * as EnvironmentSettings from "../EnvironmentSettings.ts"

export type EvaluationHandling = EnvironmentSettings.Common["evalHandling"]

/** Items rolled out at once, evaluation aside: `max_num_workers`, or workers per node times servers. */
export const maximumWorkers = (
  settings: Pick<EnvironmentSettings.Common, "maxNumWorkers" | "maxNumWorkersPerNode">,
  serverCount: number
): number =>
  settings.maxNumWorkers >= 0 ? settings.maxNumWorkers : settings.maxNumWorkersPerNode * Math.max(1, serverCount)

/** Items rolled out at once while an evaluation runs or not. */
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

/** The sequences of a batch that this environment may fill: what nobody has reserved, and its own share. */
export const derivedBatchSize = (
  batchSize: number,
  unallocatedFraction: number,
  minBatchAllocation: number | null
): number => Math.trunc(batchSize * (unallocatedFraction + (minBatchAllocation ?? 0)))

/** What the queue limit depends on. */
export interface QueueState {
  readonly batchSize: number
  /**
   * Of the batches this environment is to fill, 0 to 1, where several of one program go by their weights; 1: it
   * competes for them.
   */
  readonly share?: number
  readonly groupSize: number
  readonly maxBatchesOffpolicy: number
  readonly minBatchAllocation: number | null
  readonly status: Pick<EnvironmentStatus, "queueSize" | "selfQueueSize" | "maxGroupSize" | "unallocatedFraction">
}

/** Groups that may be on their way to the queue, by the off-policy cap and the reserved share. */
export const queueRoom = (state: QueueState): number => {
  const { batchSize, groupSize, maxBatchesOffpolicy, minBatchAllocation, share = 1, status } = state
  const derived =
    share < 1 ? batchSize * share : derivedBatchSize(batchSize, status.unallocatedFraction, minBatchAllocation)
  // Synchronous mode: one whole batch, so rounded up; shares too, or the sum of them may be no batch; else the
  // original's floor.
  const round = maxBatchesOffpolicy <= 0 || share < 1 ? Math.ceil : Math.floor
  const shared = round((Math.max(1, maxBatchesOffpolicy) * derived) / groupSize) - queuedOf(status, share)
  return minBatchAllocation === null ? shared : Math.max(shared, reservedRoom(state, minBatchAllocation))
}

/** What counts against the limit: all that is queued, or what one's own share of the queue holds. */
const queuedOf = (
  { queueSize, selfQueueSize }: Pick<EnvironmentStatus, "queueSize" | "selfQueueSize">,
  share: number
): number => (share < 1 ? selfQueueSize : queueSize)

/** Groups wanted so that the reserved share of every batch can be filled even when others overrun the queue. */
const reservedRoom = (
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

/** What of the batches an environment is to fill: a stretch of 0 to 1 beside those of the others. */
export interface Part {
  readonly from: number
  readonly to: number
  /**
   * Whether the groups of all parts have one size: then the parts of a step are whole groups that together are the
   * batch.
   */
  readonly isEven: boolean
}

export const whole: Part = { from: 0, to: 1, isEven: true }

/**
 * The parts of environments by their weights, side by side in this order; the whole for each where no weight says
 * anything.
 */
export const partsOf = (
  environments: ReadonlyArray<Pick<EnvironmentSettings.Common, "inferenceWeight" | "groupSize">>
): ReadonlyArray<Part> => {
  const bounds = [0]
  for (const { inferenceWeight } of environments) bounds.push(bounds.at(-1)! + inferenceWeight)
  const sum = bounds.at(-1)!
  if (sum <= 0) return environments.map(() => whole)
  const isEven = new Set(environments.map(({ groupSize }) => groupSize)).size === 1
  return environments.map((_, index) => ({ from: bounds[index]! / sum, to: bounds[index + 1]! / sum, isEven }))
}

/**
 * Groups that may be on their way to the queue so that none is sampled from weights more than `stepsAhead` steps too
 * old.
 */
export const policyRoom = (
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
  // A step counts when its batch is handed out: the step that trains now has been counted already.
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
 * Groups of a step that are a part's. Neighbours share a bound, so what is rounded up for one is missing for none;
 * where a bound falls between two groups it goes up at one step and down at another, as often as its fraction says.
 */
const groupsOfStep = (step: number, groups: number, { from, to }: Part): number => {
  const phase = (step * goldenRatio) % 1
  return Math.ceil(groups * to + phase) - Math.ceil(groups * from + phase)
}

/** Its multiples are spread most evenly over the fractions. */
const goldenRatio = (Math.sqrt(5) - 1) / 2

/**
 * Groups that may be on their way beside those that the limits allow: one, where the queue may make no batch of what it
 * has because groups have other sizes than `group_size` (8 of 8 are a batch of 64, with one of 7 among them they are
 * not), and nothing is under way that could. At most one batch is queued beyond the cap.
 */
export const oddRoom = (
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
  // A step that trains now is followed by another one, whose batch may be there.
  const isWaiting = version === undefined || version >= status.currentStep
  const isShort = status.queueSize < (Math.max(1, maxBatchesOffpolicy) + 1) * Math.ceil(batchSize / groupSize)
  return underWay === 0 && status.queueSize > 0 && isWaiting && isShort && !isOver ? 1 : 0
}

/**
 * Groups still missing until `total_steps` are trained on, the queued ones counted; Infinity where that cannot be known
 * because others share the queue or sizes differ (the step alone then says when it is over).
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
