/**
 * Splits a batch into rounds: in each, a micro-batch of whole sequences per rank, packed without padding or, if the
 * model cannot, padded to its longest. Sequences of similar length share a micro-batch; pairs stay together. The split
 * does not affect the loss.
 */
import type { Item, WeightedBatch } from "../learn/WeightedBatch.ts"
import type { Tensors } from "./TorchFrames.ts"

/** Indices of items, for each rank. */
export type Round = ReadonlyArray<ReadonlyArray<number>>

export interface Settings {
  /** Max positions of a micro-batch, padding included; a longer sequence is alone. */
  readonly tokenBudget: number
  readonly ranks: number
  readonly keepsPairs: boolean
  /** Sequences of a micro-batch are in one row without padding. */
  readonly isPacked: boolean
}

const widthOf = ({ items }: WeightedBatch, indices: ReadonlyArray<number>): number =>
  indices.reduce((width, index) => Math.max(width, items[index]!.length), 0)

/** Items that stay together, the longest first. */
const unitsOf = (batch: WeightedBatch, keepsPairs: boolean): ReadonlyArray<ReadonlyArray<number>> => {
  const { items, sequences } = batch
  const itemOf = new Map(items.map(({ sequence }, index) => [sequence, index]))
  const units = items.flatMap(({ sequence }, index) => {
    const partner = keepsPairs ? itemOf.get(sequences[sequence]!.pair?.partner ?? -1) : undefined
    if (partner === undefined) return [[index]]
    return partner > index ? [[index, partner]] : []
  })
  return units.toSorted((a, b) => widthOf(batch, b) - widthOf(batch, a) || a[0]! - b[0]!)
}

/** Positions of a micro-batch, padding included. */
const sizeOf = (batch: WeightedBatch, indices: ReadonlyArray<number>, isPacked: boolean): number =>
  isPacked
    ? indices.reduce((sum, index) => sum + batch.items[index]!.length, 0)
    : indices.length * widthOf(batch, indices)

const pack = (
  batch: WeightedBatch,
  units: ReturnType<typeof unitsOf>,
  budget: number,
  isPacked: boolean
): ReadonlyArray<Array<number>> => {
  const parts: Array<Array<number>> = []
  let [width, size] = [0, 0]
  for (const unit of units) {
    const open = parts.at(-1)
    const added = isPacked ? sizeOf(batch, unit, true) : width * unit.length
    if (open !== undefined && size + added <= budget) {
      open.push(...unit)
      size += added
    } else {
      parts.push([...unit])
      // The first is the longest.
      width = widthOf(batch, unit)
      size = sizeOf(batch, unit, isPacked)
    }
  }
  return parts
}

/** The smallest budget with as many rounds: ranks get micro-batches of similar size, and none is without. */
const minBudget = (sizeAt: (budget: number) => number, budget: number, largest: number): number => {
  let [low, high] = [1, budget]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (sizeAt(middle) <= largest) high = middle
    else low = middle + 1
  }
  return high
}

export const of = (
  batch: WeightedBatch,
  { isPacked, keepsPairs, ranks, tokenBudget }: Settings
): ReadonlyArray<Round> => {
  const units = unitsOf(batch, keepsPairs)
  const packed = (budget: number) => pack(batch, units, budget, isPacked)
  const rounds = Math.ceil(packed(tokenBudget).length / ranks)
  const budget = ranks === 1 ? tokenBudget : minBudget((one) => packed(one).length, tokenBudget, rounds * ranks)
  const parts = packed(budget)
  return Array.from({ length: rounds }, (_, round) => parts.slice(round * ranks, (round + 1) * ranks))
}

/** Positions that a round computes, padding included. */
export const positions = (batch: WeightedBatch, round: Round, isPacked: boolean): number =>
  round.reduce((sum, part) => sum + sizeOf(batch, part, isPacked), 0)

/** The part of a batch that a round computes, its items in the order of the ranks. */
export const batchOf = (batch: WeightedBatch, round: Round): WeightedBatch => {
  const indices = round.flat()
  const { oldLogprobs } = batch
  return {
    sequences: batch.sequences,
    items: indices.map((index) => batch.items[index]!),
    ...(oldLogprobs && { oldLogprobs: indices.map((index) => oldLogprobs[index]!) })
  }
}

/**
 * Tokens and masks of (length + 1) per item, one after the other, and, if any, the tokens that were kept at each
 * position of the mask, with their numbers (0: all). `everywhere`: all positions instead of trained.
 */
export const inputs = ({ items, sequences }: WeightedBatch, everywhere: boolean): Tensors => {
  const count = items.reduce((sum, { length }) => sum + length + 1, 0)
  const tokens = new Int32Array(count)
  const mask = new Uint8Array(count).fill(1)
  let at = 0
  for (const { length, sequence } of items) {
    const one = sequences[sequence]!
    tokens.set(one.tokens.subarray(0, length + 1), at)
    if (!everywhere) mask.set(one.mask.subarray(0, length + 1), at)
    at += length + 1
  }
  const temperatures = Float32Array.from(items, ({ sequence }) => sequences[sequence]!.temperature)
  if (items.every(({ sequence }) => sequences[sequence]!.keptTokens === undefined))
    return { tokens, mask, temperatures }
  const rows = items.flatMap(({ length, sequence }) => {
    const { keptTokens, mask } = sequences[sequence]!
    const wanted = Array.from({ length }, (_, t) => t + 1).filter((t) => everywhere || mask[t] === 1)
    return wanted.map((t) => keptTokens?.[t] ?? new Int32Array())
  })
  const kept = new Int32Array(rows.reduce((sum, ids) => sum + ids.length, 0))
  let end = 0
  for (const ids of rows) kept.set(ids, (end += ids.length) - ids.length)
  return { tokens, mask, temperatures, kept, kept_counts: Int32Array.from(rows, ({ length }) => length) }
}

/** Splits values of every position into a row per item. */
export const split = (items: ReadonlyArray<Item>, values: Float32Array): ReadonlyArray<Float32Array> => {
  let at = 0
  return items.map(({ length }) => values.slice(at, (at += length)))
}

/** Values of the items' trained positions, from a row per item. */
export const gather = ({ items, sequences }: WeightedBatch, rows: ReadonlyArray<Float32Array>): Float32Array => {
  const values = new Float32Array(items.reduce((sum, { trained }) => sum + trained, 0))
  let at = 0
  for (const [index, { length, sequence }] of items.entries()) {
    const { mask } = sequences[sequence]!
    for (let t = 0; t < length; t++) if (mask[t + 1] === 1) values[at++] = rows[index]![t]!
  }
  return values
}
