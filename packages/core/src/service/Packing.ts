/**
 * Selects the queued groups of the next batch of exactly n sequences.
 *
 * `fill` finds a batch if any subset of the groups sums to n, takes the oldest such subset (lexicographically, in queue
 * order), and satisfies the environments' minimum shares if any exact fill does, otherwise as far as possible: an
 * environment without data blocks nothing. Shares that add up to more than a batch are scaled down. Sizes are
 * arbitrary; the original's had to be powers of two that divide the batch.
 *
 * The cost does not grow with the queue: for each environment and size, only the first n / size groups can be taken.
 * `findGroups` is the original's rule for the buffer of odd-sized groups (atroposlib/api/utils.py).
 */

/** The properties of a queued group that packing needs. */
export interface QueuedGroup {
  /** G; groups with 0 sequences, or more than a batch, are never taken. */
  readonly size: number
  readonly envId: number | null
}

/** Guaranteed share of every batch (0 to 1), by environment id. */
export type MinimumShares = ReadonlyMap<number, number>

/** A set of sums as bits: bit s is set if sum s is reachable. */
type Sums = bigint

const has = (sums: Sums, sum: number): boolean => (sums >> BigInt(sum)) % 2n === 1n

/** Positions of the groups that matter: per environment and size, as many as fit into a batch. */
const relevant = (groups: ReadonlyArray<QueuedGroup>, batchSize: number): Array<number> => {
  const slots = new Map<string, number>()
  const positions: Array<number> = []
  for (let i = 0; i < groups.length; i++) {
    const { envId, size } = groups[i]!
    if (size < 1 || size > batchSize) continue
    const key = `${envId}/${size}`
    const left = slots.get(key) ?? Math.floor(batchSize / size)
    if (left === 0) continue
    slots.set(key, left - 1)
    positions.push(i)
  }
  return positions
}

/** For each i, the sums up to `limit` that groups i, i + 1, … can make. */
const suffixSums = (sizes: ReadonlyArray<number>, limit: number): Array<Sums> => {
  const mask = (1n << BigInt(limit + 1)) - 1n
  const sums = Array.from<Sums>({ length: sizes.length + 1 }).fill(1n)
  for (let i = sizes.length - 1; i >= 0; i--) {
    const rest = sums[i + 1]!
    sums[i] = (rest | (rest << BigInt(sizes[i]!))) & mask
  }
  return sums
}

/** The oldest indices whose sizes sum to `target`, which must be among `sums[0]`. */
const oldestSubset = (sizes: ReadonlyArray<number>, sums: ReadonlyArray<Sums>, target: number): Array<number> => {
  const taken: Array<number> = []
  let missing = target
  for (let i = 0; i < sizes.length && missing > 0; i++) {
    const size = sizes[i]!
    if (size <= missing && has(sums[i + 1]!, missing - size)) {
      taken.push(i)
      missing -= size
    }
  }
  return taken
}

/** FIFO: positions of the oldest groups that sum to the batch size. */
const oldestFill = (groups: ReadonlyArray<QueuedGroup>, batchSize: number): ReadonlyArray<number> | undefined => {
  const head: Array<number> = []
  let sum = 0
  for (let i = 0; i < groups.length && sum < batchSize; i++) {
    const { size } = groups[i]!
    if (size < 1) continue
    if (sum + size > batchSize) break
    head.push(i)
    sum += size
  }
  if (sum === batchSize) return head
  const positions = relevant(groups, batchSize)
  const sizes = positions.map((i) => groups[i]!.size)
  const sums = suffixSums(sizes, batchSize)
  return has(sums[0]!, batchSize) ? oldestSubset(sizes, sums, batchSize).map((i) => positions[i]!) : undefined
}

/** The groups of one environment with a minimum, or of all others together. */
interface Partition {
  readonly positions: Array<number>
  /** Sequences guaranteed to this partition in the batch. */
  readonly need: number
  /** Sequences it would get by age alone. */
  readonly natural: number
}

const partitionsOf = (
  groups: ReadonlyArray<QueuedGroup>,
  batchSize: number,
  minimums: MinimumShares,
  natural: ReadonlyArray<number>
): ReadonlyArray<Partition> => {
  const positions = new Map<number | null, Array<number>>()
  for (const i of relevant(groups, batchSize)) {
    const { envId } = groups[i]!
    const key = envId !== null && minimums.has(envId) ? envId : null
    const others = positions.get(key)
    if (others === undefined) positions.set(key, [i])
    else others.push(i)
  }
  const promised = (envId: number | null) =>
    envId === null ? 0 : Math.max(0, Math.floor(batchSize * (minimums.get(envId) ?? 0)))
  const total = [...positions.keys()].reduce<number>((sum, envId) => sum + promised(envId), 0)
  const scale = total > batchSize ? batchSize / total : 1
  return [...positions].map(([envId, partition]) => ({
    positions: partition,
    need: Math.floor(promised(envId) * scale),
    natural: natural.reduce((sum, i) => sum + (partition.includes(i) ? groups[i]!.size : 0), 0)
  }))
}

/** Quality of a split of the batch: sequences of guaranteed shares provided, then closeness to the order of age. */
interface Split {
  readonly met: number
  readonly distance: number
  readonly amounts: ReadonlyArray<number>
}

const better = (a: Split, b: Split | undefined): boolean =>
  b === undefined || a.met > b.met || (a.met === b.met && a.distance < b.distance)

/** Satisfies the guaranteed shares as far as any exact fill can, with a dynamic program over partitions and sums. */
const shareFill = (
  groups: ReadonlyArray<QueuedGroup>,
  batchSize: number,
  partitions: ReadonlyArray<Partition>
): ReadonlyArray<number> | undefined => {
  const sizes = partitions.map(({ positions }) => positions.map((i) => groups[i]!.size))
  const sums = sizes.map((partition) => suffixSums(partition, batchSize))
  let splits = new Map<number, Split>([[0, { met: 0, distance: 0, amounts: [] }]])
  for (const [partition, { natural, need }] of partitions.entries()) {
    const amounts = Array.from({ length: batchSize + 1 }, (_, sum) => sum).filter((sum) =>
      has(sums[partition]![0]!, sum)
    )
    const next = new Map<number, Split>()
    for (const [filled, split] of splits) {
      for (const amount of amounts) {
        if (filled + amount > batchSize) break
        const met = split.met + Math.min(amount, need)
        const distance = split.distance + Math.abs(amount - natural)
        const known = next.get(filled + amount)
        if (known !== undefined && (known.met > met || (known.met === met && known.distance <= distance))) continue
        const candidate = { met, distance, amounts: [...split.amounts, amount] }
        if (better(candidate, known)) next.set(filled + amount, candidate)
      }
    }
    splits = next
  }
  return splits
    .get(batchSize)
    ?.amounts.flatMap((amount, partition) =>
      oldestSubset(sizes[partition]!, sums[partition]!, amount).map((i) => partitions[partition]!.positions[i]!)
    )
    .toSorted((a, b) => a - b)
}

/** Ascending positions of the groups of the next batch; undefined if no subset sums to the batch size. */
export const fill = (
  groups: ReadonlyArray<QueuedGroup>,
  batchSize: number,
  minimums: MinimumShares = new Map()
): ReadonlyArray<number> | undefined => {
  if (batchSize < 1) return undefined
  const natural = oldestFill(groups, batchSize)
  if (natural === undefined || minimums.size === 0) return natural
  const partitions = partitionsOf(groups, batchSize, minimums, natural)
  return partitions.every((partition) => partition.natural >= partition.need)
    ? natural
    : shareFill(groups, batchSize, partitions)
}

/**
 * Ascending positions of buffered groups that sum to `target`; empty if none. Exactly as the original: in
 * order with skipping, else by subset sum, which prefers later groups.
 */
export const findGroups = (sizes: ReadonlyArray<number>, target: number): ReadonlyArray<number> => {
  const inOrder: Array<number> = []
  let sum = 0
  for (const [i, size] of sizes.entries()) {
    if (sum + size > target) continue
    inOrder.push(i)
    sum += size
    if (sum === target) return inOrder
  }
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // The bits take memory proportional to the target, so unreachable targets are rejected first.
  if (target < 0 || target > total) return []
  const mask = (1n << BigInt(target + 1)) - 1n
  const prefixes: Array<Sums> = [1n]
  for (const size of sizes) {
    const before = prefixes.at(-1)!
    prefixes.push((before | (before << BigInt(size))) & mask)
  }
  if (!has(prefixes.at(-1)!, target)) return []
  const taken: Array<number> = []
  let missing = target
  for (let i = sizes.length; i > 0 && missing > 0; i--) {
    const size = sizes[i - 1]!
    if (size <= missing && has(prefixes[i - 1]!, missing - size)) {
      taken.push(i - 1)
      missing -= size
    }
  }
  return taken.toReversed()
}
