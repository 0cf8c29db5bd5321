/**
 * Packs the items of a weighted batch into micro-batches: shifted by one, in rows of a (B, T) grid, as read by
 * `TrainGraph`.
 *
 * An item of n positions takes n of one row. `segmentIds` (0, 1, …; -1 is padding) separate items in a row, which do
 * not attend to each other; `positionIds` start at 0 in each. Paired items share one row, which may then be twice as
 * long. With `sharesPrompts` a row holds the prompt of several sequences once, as a segment that they all see.
 *
 * T takes at most `shapes` values over all batches; B·T is at most `tokenBudget`, or one row. Selects the plan with the
 * least padding and attention cost. Deterministic.
 */
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import { fill, type MicroBatchArrays, type Placement } from "./MicroBatchArrays.ts"
import * as RowPacking from "./RowPacking.ts"
import * as SharedPrompts from "./SharedPrompts.ts"

export interface PackSettings {
  readonly maxLength: number
  /**
   * Max positions of a micro-batch of several rows, padding included. A row is never split: a longer one is alone.
   */
  readonly tokenBudget: number
  /** Max number of distinct row lengths. */
  readonly shapes: number
  /** Row lengths are multiples of this: the chunks of `TrainGraph`. */
  readonly multiple: number
  /**
   * Row length at which attention over whole rows costs as much as everything else, about 6 x the hidden size; infinite
   * if its cost does not depend on the row.
   */
  readonly attentionLength: number
  /** Sequences of a group with the same prompt share its positions (`SharedPrompts`); batches of pairs do not. */
  readonly sharesPrompts: boolean
}

export const defaults: PackSettings = {
  maxLength: 4096,
  tokenBudget: 8192,
  shapes: 16,
  multiple: 1,
  attentionLength: 6144,
  sharesPrompts: false
}

export interface MicroBatch extends MicroBatchArrays {
  /** B and T. */
  readonly rows: number
  readonly length: number
  /** `length` is a multiple of this: the chunks of `TrainGraph`. */
  readonly multiple: number
  readonly placements: ReadonlyArray<Placement>
  /** Min entropy, nats, of the batch's highest-entropy tokens; computed over the whole batch. */
  readonly entropyThreshold?: number
}

/** Row lengths that a batch may use, ascending; the last fits the longest sequence. */
const ladder = ({ maxLength, multiple, shapes }: PackSettings, longest: number): ReadonlyArray<number> => {
  const up = (length: number) => Math.ceil(length / multiple) * multiple
  const max = up(Math.max(maxLength, longest))
  const step = up(Math.ceil(max / shapes))
  return Array.from({ length: Math.ceil(max / step) }, (_, i) => Math.min(max, (i + 1) * step))
}

interface Grid {
  readonly length: number
  readonly rows: ReadonlyArray<RowPacking.Row>
}

/** Groups rows into grids, fullest first, each as short as its fullest row allows. */
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

/** Cost of a plan in tokens, including padding and attention, which grows with row length. */
const cost = (plan: ReadonlyArray<Grid>, attentionLength: number): number =>
  plan.reduce((sum, { length, rows }) => sum + rows.length * length * (1 + length / attentionLength), 0)

interface Plan {
  readonly units: ReadonlyArray<SharedPrompts.Unit>
  readonly grids: ReadonlyArray<Grid>
}

/** Rows of several times the longest item's length hold its prompt once for several items. */
const sharing = 2

const bestPlan = (batch: WeightedBatch, settings: PackSettings): Plan => {
  const all = SharedPrompts.units(batch, settings.sharesPrompts)
  const longest = Math.max(...SharedPrompts.fitting(batch, all, 0).map(({ length }) => length))
  const steps = ladder(settings, longest)
  const [shortest = longest, ...longer] = steps.filter((step) => step >= longest)
  const max = Math.max(settings.tokenBudget, all.some(({ shared }) => shared > 0) ? sharing * shortest : 0)
  let best: (Plan & { readonly cost: number }) | undefined
  for (const large of [shortest, ...longer.filter((step) => step <= max)]) {
    const units = SharedPrompts.fitting(batch, all, large)
    const lengths = units.map(({ length }) => length)
    for (const small of [0, 2, 4, 8]) {
      const half = small === 0 ? undefined : steps.find((step) => step >= large / small)
      if (half === large) continue
      const rows = RowPacking.pack(lengths, half === undefined ? [large] : [half, large])
      const plan = grids(rows, steps, settings.tokenBudget)
      const work = cost(plan, settings.attentionLength)
      if (best === undefined || work < best.cost) best = { units, grids: plan, cost: work }
    }
  }
  return best ?? { units: [], grids: [] }
}

/** The places of a unit's items from position `start` of a row. */
const placed = (
  { items }: WeightedBatch,
  unit: SharedPrompts.Unit,
  row: number,
  start: number
): ReadonlyArray<Placement> => {
  const { shared } = unit
  let at = start + shared
  return unit.items.map((item): Placement => {
    const { length } = items[item]!
    const placement = { item, row, start: at, length, shared, sharedStart: shared === 0 ? at : start }
    at += length - shared
    return placement
  })
}

export const pack = (batch: WeightedBatch, settings: PackSettings): ReadonlyArray<MicroBatch> => {
  if (batch.items.length === 0) return []
  const plan = bestPlan(batch, settings)
  return plan.grids.map(({ length, rows }): MicroBatch => {
    const placements = rows.flatMap(({ items: indices }, row) => {
      let start = 0
      return indices.flatMap((index) => {
        const unit = plan.units[index]!
        const places = placed(batch, unit, row, start)
        start += unit.length
        return places
      })
    })
    return {
      rows: rows.length,
      length,
      multiple: settings.multiple,
      placements,
      ...fill(batch, placements, { rows: rows.length, length, sharesPrompts: settings.sharesPrompts })
    }
  })
}

export const positions = (microBatches: ReadonlyArray<MicroBatch>): number =>
  microBatches.reduce((sum, { length, rows }) => sum + length * rows, 0)

/** Positions that sharing prompts saves. */
export const saved = (microBatches: ReadonlyArray<MicroBatch>): number => {
  let sum = 0
  for (const { placements } of microBatches) {
    for (const { shared, sharedStart, start } of placements) {
      if (start > sharedStart + shared) sum += shared
    }
  }
  return sum
}
