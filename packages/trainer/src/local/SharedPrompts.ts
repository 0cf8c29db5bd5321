/**
 * Units that a row holds whole: an item alone, a pair, or items of one group with the same prompt, whose positions the
 * row then holds once.
 *
 * An item's prompt are the positions before its first trained one, f: tokens 0 to f - 1, which predict tokens 1 to f.
 * Position f, which holds token f and predicts the first trained token, is each item's, so no position has two targets.
 */
import type { TrainingSequence } from "../learn/TrainingSequence.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"

export interface Unit {
  /** Indices of items. */
  readonly items: readonly [number, ...ReadonlyArray<number>]
  /** Positions that all items share; 0: none. */
  readonly shared: number
  /** Positions in a row. */
  readonly length: number
}

const promptOf = ({ mask }: TrainingSequence): number => mask.indexOf(1, 1) - 1

interface Family {
  readonly prompt: number
  readonly items: [number, ...Array<number>]
}

const isSame = (a: TrainingSequence, b: TrainingSequence, prompt: number): boolean => {
  if (a.temperature !== b.temperature) return false
  for (let t = 0; t <= prompt; t++) if (a.tokens[t] !== b.tokens[t]) return false
  return true
}

/** Items of one group with the same prompt of at least one position, in the order of the batch. */
const families = ({ items, sequences }: WeightedBatch): ReadonlyArray<Family> => {
  const ofGroups = new Map<number, Array<Family>>()
  for (const [item, { sequence }] of items.entries()) {
    const own = sequences[sequence]!
    const prompt = promptOf(own)
    const known = ofGroups.get(own.group) ?? []
    ofGroups.set(own.group, known)
    const isOf = (family: Family) =>
      family.prompt === prompt && isSame(sequences[items[family.items[0]]!.sequence]!, own, prompt)
    const same = prompt === 0 ? undefined : known.find(isOf)
    if (same === undefined) known.push({ prompt, items: [item] })
    else same.items.push(item)
  }
  return [...ofGroups.values()].flat()
}

/** Paired items, or each alone. */
const pairs = ({ items, sequences }: WeightedBatch): ReadonlyArray<Unit["items"]> => {
  const itemOf = new Map(items.map(({ sequence }, item) => [sequence, item]))
  return items.flatMap(({ sequence }, item): ReadonlyArray<Unit["items"]> => {
    const { pair } = sequences[sequence]!
    const partner = pair === undefined ? undefined : itemOf.get(pair.partner)
    if (partner === undefined) return [[item]]
    return item < partner ? [[item, partner]] : []
  })
}

export const units = (batch: WeightedBatch, sharesPrompts: boolean): ReadonlyArray<Unit> => {
  const all = sharesPrompts ? families(batch) : pairs(batch).map((items) => ({ prompt: 0, items }))
  return all.map(({ items, prompt }): Unit => {
    const shared = items.length > 1 ? prompt : 0
    const length = items.reduce((sum, item) => sum + batch.items[item]!.length, 0) - shared * (items.length - 1)
    return { items, shared, length }
  })
}

/** Splits units that share a prompt so that each fits into a row of `capacity` positions. */
export const fitting = ({ items }: WeightedBatch, units: ReadonlyArray<Unit>, capacity: number): ReadonlyArray<Unit> =>
  units.flatMap((unit): ReadonlyArray<Unit> => {
    const { shared } = unit
    if (shared === 0 || unit.length <= capacity) return [unit]
    const parts: Array<Unit> = []
    for (const item of unit.items) {
      const last = parts.at(-1)
      const own = items[item]!.length - shared
      if (last === undefined || last.length + own > capacity)
        parts.push({ items: [item], shared, length: shared + own })
      else parts[parts.length - 1] = { items: [...last.items, item], shared, length: last.length + own }
    }
    return parts.map((part) => (part.items.length > 1 ? part : { ...part, shared: 0 }))
  })
