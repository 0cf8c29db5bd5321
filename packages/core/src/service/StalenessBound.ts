/**
 * How many rollouts may be begun where a run's environments wait at a bound of staleness (`on_stale wait` of its
 * trainer), so that nothing is rolled out that could not be trained on within `maxStaleness` steps. Pure.
 *
 * The rule of AReaL (arXiv 2505.24298): what was handed out and not learned from, what is queued, what is under way and
 * the rollout in question are at most `maxStaleness` + 1 batches. A rollout that is not overtaken is then in one of
 * them, with at most `maxStaleness` steps before its own. At 0 none can be overtaken: the one batch needs all of them.
 *
 * Exact where all groups have one size that divides the batch; else up to one group more is begun, because a batch must
 * be able to fill.
 */

/** A run, as far as its bound goes by it. */
export interface BoundedRun {
  /** Steps. */
  readonly maxStaleness: number
  /** Sequences. */
  readonly batchSize: number
  /** Batches handed out whose weights the samplers do not have yet. */
  readonly untrained: number
  /** What no batch has taken: groups of a size, in sequences; a size may come several times. */
  readonly queued: ReadonlyArray<{ readonly sequences: number; readonly groups: number }>
}

/** An environment that rolls out for the run. */
export interface Roller {
  /** Sequences. */
  readonly groupSize: number
  /** Groups begun that are not queued, and those it may begin already. */
  readonly underWay: number
  readonly weight: number
  readonly maxTokenLength: number
  readonly minBatchAllocation: number | null
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

const queuedOf = ({ queued }: BoundedRun): number => sum(queued.map(({ groups, sequences }) => groups * sequences))

/** Sequences that may be begun; negative where more is there than may be. */
export const room = (run: BoundedRun, underWay: number): number =>
  (run.maxStaleness + 1 - run.untrained) * run.batchSize - queuedOf(run) - underWay

/** What an environment's share is proportional to. */
const claimOf = ({ maxTokenLength, weight }: Roller): number => maxTokenLength * Math.max(0, weight)

/** Of what may be under way, what an environment may have for itself while others wait for their turn. */
const shareOf = (own: Roller, all: ReadonlyArray<Roller>): number => {
  const claims = sum(all.map(claimOf))
  return Math.max(claims > 0 ? claimOf(own) / claims : 1 / all.length, own.minBatchAllocation ?? 0)
}

/** Whether what is queued may make no batch, because groups have sizes that do not combine, and nothing else comes. */
const isStuck = (run: BoundedRun, underWay: number): boolean => {
  const sizes = new Set(run.queued.flatMap(({ groups, sequences }) => (groups > 0 ? [sequences] : [])))
  const isOdd = sizes.size > 1 || [...sizes].some((size) => run.batchSize % size !== 0)
  return isOdd && underWay === 0 && run.untrained === 0 && queuedOf(run) < (run.maxStaleness + 2) * run.batchSize
}

/**
 * Of `more` rollouts that an environment wants to begin, how many it may: what the bound leaves, and no more under way
 * than its share by weight (one at least), so that the first to ask does not take all. What others do not ask for goes
 * to whoever asks.
 */
export const granted = (run: BoundedRun, own: Roller, others: ReadonlyArray<Roller>, more: number): number => {
  const all = [own, ...others]
  const underWay = sum(all.map((one) => one.underWay * one.groupSize))
  const left = Math.ceil(room(run, underWay) / own.groupSize)
  const share = Math.ceil((shareOf(own, all) * (run.maxStaleness + 1) * run.batchSize) / own.groupSize)
  const fair = Math.max(1, share) - own.underWay
  const usual = Math.max(0, Math.min(more, left, fair))
  return usual === 0 && more > 0 && isStuck(run, underWay) ? 1 : usual
}
