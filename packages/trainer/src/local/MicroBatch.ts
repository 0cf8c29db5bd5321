/**
 * Micro-batches: the items of a weighted batch, shifted by one and packed into rows of a (B, T) grid, in the layout
 * `TrainGraph` reads.
 *
 * An item of n positions takes n of one row. Items in a row are told apart by `segmentIds` (0, 1, …; -1 is padding) and
 * do not see each other; `positionIds` start at 0 in each.
 *
 * Two items that are compared with each other lie side by side in one row, which may then be twice as long.
 *
 * Rows of a micro-batch have one length T out of at most `shapes` lengths, whatever the batch; B·T stays within
 * `tokenBudget`. Of several plans the one with the least padding and attention is taken. Deterministic: equal input
 * gives equal output.
 */
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import { fill, type MicroBatchArrays } from "./MicroBatchArrays.ts"
import * as RowPacking from "./RowPacking.ts"

export interface PackSettings {
  /** Most positions of an item. */
  readonly maxLength: number
  /**
   * Most positions of a micro-batch, padding included, and at least `maxLength`; a row is never split, and of two items
   * that are compared it may be longer.
   */
  readonly tokenBudget: number
  /** Most distinct row lengths. */
  readonly shapes: number
  /** Row lengths are multiples of this: the chunks of `TrainGraph`. */
  readonly multiple: number
  /**
   * Row length at which attention to whole rows costs as much as all other work, about 6 x the hidden size; infinite
   * where its cost does not depend on the row.
   */
  readonly attentionLength: number
}

export const defaults: PackSettings = {
  maxLength: 4096,
  tokenBudget: 8192,
  shapes: 16,
  multiple: 1,
  attentionLength: 6144
}

/** Where an item lies. */
export interface Placement {
  /** Its index among the items of the batch. */
  readonly item: number
  readonly row: number
  /** First position in the row. */
  readonly start: number
  /** Positions, one fewer than tokens. */
  readonly length: number
}

export interface MicroBatch extends MicroBatchArrays {
  /** B and T. */
  readonly rows: number
  readonly length: number
  /** Of which `length` is a multiple: the chunks of `TrainGraph`. */
  readonly multiple: number
  readonly placements: ReadonlyArray<Placement>
  /** Entropy from which on the batch's tokens belong to those of the highest, nats; made from the whole batch. */
  readonly entropyThreshold?: number
}

/** Items that must lie in one row, by their indices. */
type Unit = readonly [number, ...ReadonlyArray<number>]

const unitsOf = ({ items, sequences }: WeightedBatch): ReadonlyArray<Unit> => {
  const itemOf = new Map(items.map(({ sequence }, item) => [sequence, item]))
  return items.flatMap(({ sequence }, item): ReadonlyArray<Unit> => {
    const { pair } = sequences[sequence]!
    const partner = pair === undefined ? undefined : itemOf.get(pair.partner)
    if (partner === undefined) return [[item]]
    return item < partner ? [[item, partner]] : []
  })
}

/** Row lengths a batch may use, ascending; the last holds the longest sequence. */
const ladder = ({ maxLength, multiple, shapes }: PackSettings, longest: number): ReadonlyArray<number> => {
  const up = (length: number) => Math.ceil(length / multiple) * multiple
  const most = up(Math.max(maxLength, longest))
  const step = up(Math.ceil(most / shapes))
  return Array.from({ length: Math.ceil(most / step) }, (_, i) => Math.min(most, (i + 1) * step))
}

interface Grid {
  readonly length: number
  readonly rows: ReadonlyArray<RowPacking.Row>
}

/** Rows side by side, fullest first, each grid as short as its fullest row allows. */
const grids = (
  rows: ReadonlyArray<RowPacking.Row>,
  steps: ReadonlyArray<number>,
  tokenBudget: number
): ReadonlyArray<Grid> => {
  const sorted = rows.toSorted((a, b) => b.capacity - a.capacity || b.used - a.used)
  const result: Array<Grid> = []
  for (let at = 0; at < sorted.length;) {
    const { capacity } = sorted[at]!
    const alike = sorted.slice(at, at + Math.max(1, Math.floor(tokenBudget / capacity)))
    const same = alike.filter((row) => row.capacity === capacity)
    const fullest = Math.max(...same.map(({ used }) => used))
    result.push({ rows: same, length: steps.find((step) => step >= fullest) ?? fullest })
    at += same.length
  }
  return result
}

/** Work of a plan in tokens: padding counts, and so does attention, which grows with the row's length. */
const cost = (plan: ReadonlyArray<Grid>, attentionLength: number): number =>
  plan.reduce((sum, { length, rows }) => sum + rows.length * length * (1 + length / attentionLength), 0)

const bestPlan = (lengths: ReadonlyArray<number>, settings: PackSettings): ReadonlyArray<Grid> => {
  const longest = Math.max(...lengths)
  const steps = ladder(settings, longest)
  let best: { readonly plan: ReadonlyArray<Grid>; readonly cost: number } | undefined
  for (const large of steps.filter((step) => step >= longest)) {
    for (const small of [0, 2, 4, 8]) {
      const half = small === 0 ? undefined : steps.find((step) => step >= large / small)
      if (half === large) continue
      const rows = RowPacking.pack(lengths, half === undefined ? [large] : [half, large])
      const plan = grids(rows, steps, settings.tokenBudget)
      const work = cost(plan, settings.attentionLength)
      if (best === undefined || work < best.cost) best = { plan, cost: work }
    }
  }
  return best?.plan ?? []
}

/** Packs a batch. */
export const pack = (batch: WeightedBatch, settings: PackSettings): ReadonlyArray<MicroBatch> => {
  const { items } = batch
  const units = unitsOf(batch)
  const lengths = units.map((unit) => unit.reduce((sum, item) => sum + items[item]!.length, 0))
  const plan = units.length === 0 ? [] : bestPlan(lengths, settings)
  return plan.map(({ length, rows }): MicroBatch => {
    const placements = rows.flatMap(({ items: indices }, row) => {
      let start = 0
      const inRow = indices.flatMap((unit) => units[unit]!)
      return inRow.map((item): Placement => {
        const placement = { item, row, start, length: items[item]!.length }
        start += placement.length
        return placement
      })
    })
    return {
      rows: rows.length,
      length,
      multiple: settings.multiple,
      placements,
      ...fill(batch, placements, rows.length, length)
    }
  })
}

/** Positions of micro-batches, padding included. */
export const positions = (microBatches: ReadonlyArray<MicroBatch>): number =>
  microBatches.reduce((sum, { length, rows }) => sum + length * rows, 0)
