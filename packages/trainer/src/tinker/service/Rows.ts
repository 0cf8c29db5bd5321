/**
 * Packs data into rows, and rows into micro-batches, for runs of a training graph.
 *
 * A datum is never split. Rows of a micro-batch have one length: the longest datum's, rounded up to one of few lengths,
 * or as much as the token budget allows. Deterministic.
 */
import type { MicroBatch } from "../../local/MicroBatch.ts"
import * as RowPacking from "../../local/RowPacking.ts"
import type { Item } from "./Data.ts"

export interface Settings {
  /** Max positions of a micro-batch, unless a single row is longer. */
  readonly tokenBudget: number
  /** Row lengths are multiples of this. */
  readonly multiple: number
}

export interface Placed {
  readonly item: number
  readonly at: number
  readonly length: number
}

export interface Rows {
  readonly microBatch: MicroBatch
  readonly placed: ReadonlyArray<Placed>
}

/** Lengths are multiples of this, or of about a sixteenth for longer ones. */
const step = 16

const rounded = (length: number, multiple: number): number => {
  const unit = Math.max(step, 2 ** Math.floor(Math.log2(Math.max(1, length)) - 4), multiple)
  const whole = Math.ceil(unit / multiple) * multiple
  return Math.ceil(length / whole) * whole
}

const fill = (
  items: ReadonlyArray<Item>,
  rows: ReadonlyArray<RowPacking.Row>,
  length: number,
  multiple: number,
  isPolicyGradient: boolean
): Rows => {
  const size = rows.length * length
  const ids = () => new Int32Array(size)
  const reals = () => new Float32Array(size)
  const inputIds = ids()
  const targetIds = ids()
  const positionIds = ids()
  const segmentIds = ids().fill(-1)
  const lossMask = reals()
  const tokenWeights = new Float64Array(size)
  const advantages = reals()
  const oldLogprobs = reals()
  const placed: Array<Placed> = []
  for (const [row, { items: members }] of rows.entries()) {
    let at = row * length
    for (const [segment, item] of members.entries()) {
      const { targets, tokens, weights, ...policy } = items[item]!
      inputIds.set(tokens, at)
      targetIds.set(targets, at)
      segmentIds.fill(segment, at, at + tokens.length)
      lossMask.fill(1, at, at + tokens.length)
      for (let t = 0; t < tokens.length; t++) positionIds[at + t] = t
      if (isPolicyGradient) tokenWeights.fill(1, at, at + tokens.length)
      else tokenWeights.set(weights, at)
      advantages.set(policy.advantages, at)
      oldLogprobs.set(policy.oldLogprobs, at)
      placed.push({ item, at, length: tokens.length })
      at += tokens.length
    }
  }
  const microBatch: MicroBatch = {
    rows: rows.length,
    length,
    multiple,
    placements: [],
    inputIds,
    targetIds,
    positionIds,
    segmentIds,
    shared: undefined,
    lossMask,
    tokenWeights,
    advantages,
    oldLogprobs,
    engineLogprobs: oldLogprobs,
    trainerLogprobs: undefined,
    refLogprobs: undefined,
    teacherLogprobs: undefined,
    pairs: undefined,
    temperatures: reals().fill(1),
    distill: undefined,
    routedExperts: []
  }
  return { microBatch, placed }
}

export const pack = (
  items: ReadonlyArray<Item>,
  isPolicyGradient: boolean,
  { multiple, tokenBudget }: Settings
): ReadonlyArray<Rows> => {
  const lengths = items.map(({ tokens }) => tokens.length)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const longest = Math.max(...lengths)
  // One row of everything if that is short; else rows of up to four times the longest.
  const capacity = rounded(Math.max(longest, Math.min(total, 4 * longest, tokenBudget)), multiple)
  const rows = RowPacking.pack(lengths, [capacity])
  const together = Math.max(1, Math.floor(tokenBudget / capacity))
  const batches: Array<Rows> = []
  for (let from = 0; from < rows.length; from += together) {
    const some = rows.slice(from, from + together)
    const used = Math.max(...some.map((row) => row.used))
    batches.push(fill(items, some, Math.min(capacity, rounded(used, multiple)), multiple, isPolicyGradient))
  }
  return batches
}
