/**
 * Selects the trainable sequences of a batch, truncates them, and weights their tokens. Losses and gradients of any
 * split into micro-batches or requests add up to the batch's.
 *
 * Excludes, and counts, sequences without trained tokens, too long ones (`tooLong: "drop"`), and those with token ids
 * outside the vocabulary or NaN or infinite numbers.
 */
import type { AggregationSettings } from "../loss/Aggregation.ts"
import * as Aggregation from "../loss/Aggregation.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"

export interface Item {
  /** Index among `sequences`. */
  readonly sequence: number
  /**
   * Positions n: position t holds token t and predicts token t + 1, for t from 0 to n - 1; mask, advantage and logprobs
   * of a position are those of token t + 1.
   */
  readonly length: number
  /** Trained positions, at least 1. */
  readonly trained: number
  /** Weight of each trained token: the loss is Σ items weight · Σ trained positions ℓ. */
  readonly weight: number
}

export interface WeightedBatch {
  readonly sequences: ReadonlyArray<TrainingSequence>
  readonly items: ReadonlyArray<Item>
  /**
   * Per item (length) nats: the trainer's logprobs before the first update with this batch. Later updates use them as
   * π_old if the objective asks for the trainer's, or if the sampler's are unknown; absent in the first, where they
   * equal the current ones.
   */
  readonly oldLogprobs?: ReadonlyArray<Float32Array>
}

export interface Settings {
  readonly maxLength: number
  /** Truncate longer sequences or drop them. Default: drop. */
  readonly tooLong?: "cut" | "drop"
  /** Ids must be below this. */
  readonly vocabSize: number
  /**
   * Skip sequences whose advantages are all 0: correct only if the advantage is the sole source of loss (no KL, no
   * distillation). Default false.
   */
  readonly skipZeroAdvantage?: boolean
}

export type DropReason =
  | "advantages of a different length"
  | "nothing to train"
  | "too long"
  | "token outside the vocabulary"
  | "not finite"
  | "compared with a dropped sequence"

export interface Report {
  readonly usefulTokens: number
  readonly trainedTokens: number
  /** Sequences counted in the denominators. */
  readonly sequences: number
  readonly cut: number
  readonly zeroAdvantage: number
  readonly dropped: ReadonlyArray<{ readonly sequence: number; readonly reason: DropReason }>
}

export interface Chosen {
  readonly batch: WeightedBatch
  readonly report: Report
}

const isOutside = (tokens: Int32Array, vocabSize: number): boolean => {
  for (const token of tokens) if (token < 0 || token >= vocabSize) return true
  return false
}

const isFinite = (numbers: Float32Array = new Float32Array()): boolean => {
  for (const number of numbers) if (!Number.isFinite(number)) return false
  return true
}

/** Unsampled tokens are NaN, which is allowed. */
const hasInfinite = (logprobs: Float32Array = new Float32Array()): boolean => {
  for (const logprob of logprobs) if (Math.abs(logprob) === Infinity) return true
  return false
}

const problem = (sequence: TrainingSequence, vocabSize: number): DropReason | undefined => {
  const { advantages, distillLogprobs, distillTokenIds, engineLogprobs, keptTokens, refLogprobs, tokens } = sequence
  if (advantages.length !== tokens.length) return "advantages of a different length"
  if (isOutside(tokens, vocabSize)) return "token outside the vocabulary"
  if (distillTokenIds?.some((ids) => isOutside(ids, vocabSize)) === true) return "token outside the vocabulary"
  if (keptTokens?.some((ids) => isOutside(ids, vocabSize)) === true) return "token outside the vocabulary"
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

/**
 * Selects the sequences to train on. The denominators include all valid sequences, also those skipped for zero
 * advantage.
 */
export const choose = (
  sequences: ReadonlyArray<TrainingSequence>,
  aggregation: AggregationSettings,
  { maxLength, skipZeroAdvantage = false, tooLong = "drop", vocabSize }: Settings
): Chosen => {
  const dropped: Array<Report["dropped"][number]> = []
  const usable: Array<Omit<Item, "weight">> = []
  let cut = 0
  for (const [index, sequence] of sequences.entries()) {
    const whole = sequence.tokens.length - 1
    const isLong = whole > maxLength
    const reason = isLong && tooLong === "drop" ? "too long" : problem(sequence, vocabSize)
    if (reason !== undefined) {
      dropped.push({ sequence: index, reason })
      continue
    }
    if (isLong) cut++
    const length = Math.min(whole, maxLength)
    usable.push({ sequence: index, length, trained: trainedWithin(sequence.mask, length) })
  }
  const trainable = new Set(usable.flatMap(({ sequence, trained }) => (trained > 0 ? [sequence] : [])))
  const isAlone = ({ sequence }: { readonly sequence: number }) => {
    const { pair } = sequences[sequence]!
    return pair !== undefined && !trainable.has(pair.partner)
  }
  for (const { sequence } of usable.filter(isAlone)) {
    dropped.push({ sequence, reason: "compared with a dropped sequence" })
  }
  const sound = usable.filter((item) => !isAlone(item))
  const weights = Aggregation.weights(
    sound.map(({ trained }) => trained),
    aggregation
  )
  for (const { sequence, trained } of sound) {
    if (trained === 0) dropped.push({ sequence, reason: "nothing to train" })
  }
  const trained = sound.map((item, i): Item => ({ ...item, weight: weights[i]! })).filter((item) => item.trained > 0)
  const items = skipZeroAdvantage
    ? trained.filter(({ sequence }) => sequences[sequence]!.advantages.some((advantage) => advantage !== 0))
    : trained
  return {
    batch: { sequences, items },
    report: {
      usefulTokens: items.reduce((sum, { length }) => sum + length, 0),
      trainedTokens: sound.reduce((sum, item) => sum + item.trained, 0),
      sequences: sound.length,
      cut,
      zeroAdvantage: trained.length - items.length,
      dropped
    }
  }
}

/** A batch of one text, all of whose tokens are trained: for its logprobs at temperature 1. */
export const ofTokens = (tokens: ReadonlyArray<number>): WeightedBatch => {
  const length = tokens.length - 1
  const sequence: TrainingSequence = {
    tokens: Int32Array.from(tokens),
    mask: new Uint8Array(tokens.length).fill(1),
    advantages: new Float32Array(tokens.length),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group: 0
  }
  return { sequences: [sequence], items: [{ sequence: 0, length, trained: length, weight: 1 }] }
}

/** The reason why an engine cannot train a batch that was sampled with top-k, top-p or min-p, if any. */
export const truncationProblem = ({ items, sequences }: WeightedBatch, engine: string): string | undefined =>
  items.some(({ sequence }) => sequences[sequence]!.keptTokens !== undefined)
    ? `sequences come with the tokens that top-k, top-p or min-p left to choose from (sampling_mask), over which ${engine} cannot renormalise: ` +
      "train with --engine torch, or start vLLM without --return-sampling-mask"
    : undefined
