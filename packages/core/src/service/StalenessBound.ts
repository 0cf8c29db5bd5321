/**
 * Limits the rollouts that may start if a run's environments wait at a staleness bound (`on_stale wait` of its
 * trainer), so that nothing is rolled out that could not be trained on within `maxStaleness` steps. Pure.
 *
 * The rule of AReaL (arXiv 2505.24298): untrained handed-out groups, queued ones, those in progress and the new rollout
 * together are at most `maxStaleness` + 1 batches. A rollout that is not overtaken is then in one of them, with at most
 * `maxStaleness` steps before its own. At 0 none can be overtaken: the one batch needs all of them.
 *
 * Exact if all groups have one size that divides the batch; otherwise up to one more group may start, because a batch
 * must be able to fill.
 */

/** The properties of a run that its bound depends on. */
export interface BoundedRun {
  /** Steps. */
  readonly maxStaleness: number
  /** Sequences. */
  readonly batchSize: number
  /** Batches handed out whose weights the samplers do not have yet. */
  readonly untrained: number
  /** Groups not in a batch, by size in sequences; a size may occur several times. */
  readonly queued: ReadonlyArray<{ readonly sequences: number; readonly groups: number }>
}

/** An environment with rollouts for the run. */
export interface Roller {
  /** Sequences. */
  readonly groupSize: number
  /** Groups started and not queued, including those already permitted. */
  readonly underWay: number
  readonly weight: number
  readonly maxTokenLength: number
  readonly minBatchAllocation: number | null
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

const queuedOf = ({ queued }: BoundedRun): number => sum(queued.map(({ groups, sequences }) => groups * sequences))

/** Sequences that may be started; negative if the bound is exceeded. */
export const capacity = (run: BoundedRun, underWay: number): number =>
  (run.maxStaleness + 1 - run.untrained) * run.batchSize - queuedOf(run) - underWay

/** An environment's share is proportional to this. */
const claimOf = ({ maxTokenLength, weight }: Roller): number => maxTokenLength * Math.max(0, weight)

/** The share of the allowed rollouts that an environment may use while others wait. */
const shareOf = (own: Roller, all: ReadonlyArray<Roller>): number => {
  const claims = sum(all.map(claimOf))
  return Math.max(claims > 0 ? claimOf(own) / claims : 1 / all.length, own.minBatchAllocation ?? 0)
}

/** True if the queued groups may not form a batch, because of their sizes, and nothing else is coming. */
const isStuck = (run: BoundedRun, underWay: number): boolean => {
  const sizes = new Set(run.queued.flatMap(({ groups, sequences }) => (groups > 0 ? [sequences] : [])))
  const isOdd = sizes.size > 1 || [...sizes].some((size) => run.batchSize % size !== 0)
  return isOdd && underWay === 0 && run.untrained === 0 && queuedOf(run) < (run.maxStaleness + 2) * run.batchSize
}

/**
 * Number of the `more` requested rollouts that an environment may start: limited by the bound, and in total by its
 * share by weight (at least one), so that the first one to ask does not take everything. What others do not request
 * goes to any environment that does.
 */
export const granted = (run: BoundedRun, own: Roller, others: ReadonlyArray<Roller>, more: number): number => {
  const all = [own, ...others]
  const underWay = sum(all.map((one) => one.underWay * one.groupSize))
  const left = Math.ceil(capacity(run, underWay) / own.groupSize)
  const share = Math.ceil((shareOf(own, all) * (run.maxStaleness + 1) * run.batchSize) / own.groupSize)
  const fair = Math.max(1, share) - own.underWay
  const allowed = Math.max(0, Math.min(more, left, fair))
  return allowed === 0 && more > 0 && isStuck(run, underWay) ? 1 : allowed
}
