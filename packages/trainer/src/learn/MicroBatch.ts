/**
 * Micro-batches: training sequences, shifted by one and packed into rows of a (B, T) grid, in the layout `TrainGraph`
 * reads.
 *
 * A sequence of n tokens takes n - 1 positions of one row: position t holds token t and predicts token t + 1, with the
 * mask, advantage and logprobs of token t + 1. Sequences in a row are told apart by `segmentIds` (0, 1, …; -1 is
 * padding) and do not see each other; `positionIds` start at 0 in each.
 *
 * Rows of a micro-batch have one length T out of at most `shapes` lengths, whatever the batch; B·T stays within
 * `tokenBudget`. Of several plans the one with the least padding and attention is taken. Deterministic: equal input
 * gives equal output.
 *
 * A sequence is left out, and counted, if it has nothing to train, is too long (`tooLong: "drop"`), or carries a token
 * id outside the vocabulary or a number that is not finite: executors do not all check ids, and one NaN spoils a step.
 */
import type { AggregationSettings } from "../loss/Aggregation.ts"
import * as Aggregation from "../loss/Aggregation.ts"
import { fill, type MicroBatchArrays } from "./MicroBatchArrays.ts"
import * as RowPacking from "./RowPacking.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"

export interface PackSettings {
  /** Most positions of a row. */
  readonly maxLength: number
  /** Most positions of a micro-batch, padding included; a row is never split. */
  readonly tokenBudget: number
  /** What happens to longer sequences: their end is cut off, or they are left out. */
  readonly tooLong: "cut" | "drop"
  /** Most distinct row lengths. */
  readonly shapes: number
  /** Row lengths are multiples of this: the chunks of `TrainGraph`. */
  readonly multiple: number
  /** Row length at which attention costs as much as all other work, about 6 x the hidden size. */
  readonly attentionLength: number
  /** Ids from here on are invalid. */
  readonly vocabSize: number
  /**
   * Leave out sequences whose advantages are all 0: right where nothing but the advantage makes a loss (no KL, no
   * distillation).
   */
  readonly skipZeroAdvantage: boolean
}

export const defaults: Omit<PackSettings, "vocabSize"> = {
  maxLength: 4096,
  tokenBudget: 8192,
  tooLong: "drop",
  shapes: 16,
  multiple: 1,
  attentionLength: 6144,
  skipZeroAdvantage: false
}

/** Where a sequence lies. */
export interface Placement {
  /** Its index among the sequences given to `pack`. */
  readonly sequence: number
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
  readonly placements: ReadonlyArray<Placement>
  /** Entropy from which on the batch's tokens belong to those of the highest, nats; made from the whole batch. */
  readonly entropyThreshold?: number
}

export type DropReason =
  | "advantages of another length"
  | "nothing to train"
  | "too long"
  | "token outside the vocabulary"
  | "not finite"

export interface PackReport {
  /** Positions with a token that is not padding, and all positions. */
  readonly usefulTokens: number
  readonly paddedTokens: number
  readonly trainedTokens: number
  /** Sequences the denominators count. */
  readonly sequences: number
  readonly cut: number
  readonly zeroAdvantage: number
  readonly dropped: ReadonlyArray<{ readonly sequence: number; readonly reason: DropReason }>
  /** Distinct row lengths. */
  readonly lengths: ReadonlyArray<number>
}

export interface Packed {
  readonly microBatches: ReadonlyArray<MicroBatch>
  readonly report: PackReport
}

/** A sequence that will be packed: `length` positions of it. */
interface Item {
  readonly sequence: number
  readonly length: number
  readonly trained: number
}

const isOutside = (tokens: Int32Array, vocabSize: number): boolean => {
  for (const token of tokens) if (token < 0 || token >= vocabSize) return true
  return false
}

const isFinite = (numbers: Float32Array = new Float32Array()): boolean => {
  for (const number of numbers) if (!Number.isFinite(number)) return false
  return true
}

/** Where nothing was sampled there is NaN. */
const hasInfinite = (logprobs: Float32Array = new Float32Array()): boolean => {
  for (const logprob of logprobs) if (Math.abs(logprob) === Infinity) return true
  return false
}

const problem = (sequence: TrainingSequence, { vocabSize }: PackSettings): DropReason | undefined => {
  const { advantages, distillLogprobs, distillTokenIds, engineLogprobs, refLogprobs, tokens } = sequence
  if (advantages.length !== tokens.length) return "advantages of another length"
  if (isOutside(tokens, vocabSize)) return "token outside the vocabulary"
  if (distillTokenIds?.some((ids) => isOutside(ids, vocabSize)) === true) return "token outside the vocabulary"
  const isSound =
    isFinite(advantages) &&
    !hasInfinite(engineLogprobs) &&
    isFinite(refLogprobs) &&
    (distillLogprobs?.every(isFinite) ?? true)
  return isSound ? undefined : "not finite"
}

const trainedWithin = (mask: Uint8Array, length: number): number => {
  let count = 0
  for (let t = 1; t <= length; t++) count += mask[t]!
  return count
}

/** Row lengths a batch may use, ascending; the last holds the longest sequence. */
const ladder = ({ maxLength, multiple, shapes, tokenBudget }: PackSettings): ReadonlyArray<number> => {
  const up = (length: number) => Math.ceil(length / multiple) * multiple
  const most = up(Math.min(maxLength, tokenBudget))
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

const bestPlan = (items: ReadonlyArray<Item>, settings: PackSettings): ReadonlyArray<Grid> => {
  const steps = ladder(settings)
  const lengths = items.map(({ length }) => length)
  const longest = Math.max(...lengths)
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

/**
 * Packs a batch. The denominators are those of all sound sequences, also of those that are skipped for zero advantage.
 */
export const pack = (
  sequences: ReadonlyArray<TrainingSequence>,
  aggregation: AggregationSettings,
  settings: PackSettings
): Packed => {
  const most = Math.min(settings.maxLength, settings.tokenBudget)
  const dropped: Array<PackReport["dropped"][number]> = []
  const items: Array<Item> = []
  let cut = 0
  for (const [index, sequence] of sequences.entries()) {
    const whole = sequence.tokens.length - 1
    const isLong = whole > most
    const reason = isLong && settings.tooLong === "drop" ? "too long" : problem(sequence, settings)
    if (reason !== undefined) {
      dropped.push({ sequence: index, reason })
      continue
    }
    if (isLong) cut++
    const length = Math.min(whole, most)
    items.push({ sequence: index, length, trained: trainedWithin(sequence.mask, length) })
  }
  const weights = Aggregation.weights(
    items.map(({ trained }) => trained),
    aggregation
  )
  const weightOf = new Map(items.map(({ sequence }, i) => [sequence, weights[i]!]))
  for (const { sequence, trained } of items) {
    if (trained === 0) dropped.push({ sequence, reason: "nothing to train" })
  }
  const trained = items.filter((item) => item.trained > 0)
  const kept = settings.skipZeroAdvantage
    ? trained.filter(({ sequence }) => sequences[sequence]!.advantages.some((advantage) => advantage !== 0))
    : trained
  const plan = kept.length === 0 ? [] : bestPlan(kept, settings)
  const microBatches = plan.map(({ length, rows }): MicroBatch => {
    const placements = rows.flatMap(({ items }, row) => {
      let start = 0
      return items.map((i): Placement => {
        const item = kept[i]!
        const placement = { sequence: item.sequence, row, start, length: item.length }
        start += item.length
        return placement
      })
    })
    const arrays = fill(sequences, placements, (sequence) => weightOf.get(sequence)!, rows.length, length)
    return { rows: rows.length, length, placements, ...arrays }
  })
  return {
    microBatches,
    report: {
      usefulTokens: kept.reduce((sum, { length }) => sum + length, 0),
      paddedTokens: plan.reduce((sum, { length, rows }) => sum + length * rows.length, 0),
      trainedTokens: items.reduce((sum, item) => sum + item.trained, 0),
      sequences: items.length,
      cut,
      zeroAdvantage: trained.length - kept.length,
      dropped,
      lengths: [...new Set(plan.map(({ length }) => length))].sort((a, b) => a - b)
    }
  }
}
