/**
 * Measures training speed on this machine with synthetic sequences before a run, as many as a few seconds allow. Their
 * gradient is discarded, so the run's weights are unchanged to the bit.
 */
import type * as Trainer from "@atropos/trainer/run/Trainer"
import { Effect } from "effect"

export type Measuring = Pick<Trainer.Trainer, "measure">

export interface Trial {
  /** Positions trained together. */
  readonly tokens: number
  readonly seconds: number
}

export interface Sizes {
  readonly batchSize: number
  /** Positions of a sequence. */
  readonly whole: number
  /** Share of them that is trained: 0 to 1. */
  readonly share: number
  /** Sequences with the same prompt. Default: 1. */
  readonly groupSize?: number
}

/**
 * Tokens of the first trial; small batches are slower per token. If they take long, preparing the graph hardly matters.
 */
const fewTokens = 256
const long = 2
/** Seconds for each of two more trials: the first allocates arrays of that size. */
const patience = 1.5

export const rate = ({ seconds, tokens }: Trial): number => tokens / seconds

/** Measures sequences of the expected length, with a share of them trained. */
export const run = Effect.fn("Trial.run")(function* (
  trainer: Measuring,
  { batchSize, groupSize = 1, share, whole }: Sizes
) {
  const of = Effect.fnUntraced(function* (tokens: number, sequences: number) {
    const trained = Math.max(1, Math.round(share * tokens))
    return { tokens: tokens * sequences, seconds: yield* trainer.measure({ tokens, trained, sequences, groupSize }) }
  })
  const few = Math.min(batchSize, Math.max(1, Math.floor(fewTokens / whole)))
  const first: Trial = yield* of(Math.min(fewTokens, whole), few)
  if (first.seconds > long) return first
  const max = Math.min(batchSize, Math.floor((patience * first.tokens) / first.seconds / whole))
  if (max <= few) return yield* of(Math.min(fewTokens, whole), few)
  const trials = [yield* of(whole, max), yield* of(whole, max)] as const
  return trials[1].seconds < trials[0].seconds ? trials[1] : trials[0]
})
