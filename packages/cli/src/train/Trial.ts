/**
 * How fast sequences are trained on this machine: made-up ones of a length are tried before a run, as many as a few
 * seconds allow. Their gradient is thrown away, so the run's weights are the same to the bit.
 */
import type * as Trainer from "@atropos/trainer/run/Trainer"
import { Effect } from "effect"

export type Measuring = Pick<Trainer.Trainer, "measure">

export interface Trial {
  /** Positions that were trained at once. */
  readonly tokens: number
  readonly seconds: number
}

export interface Sizes {
  readonly batchSize: number
  /** Positions of a sequence. */
  readonly whole: number
  /** Of them, that are trained: 0 to 1. */
  readonly share: number
}

/**
 * Tokens trained to begin with: fewer are slower for each. Where they take long, what prepares the graph hardly
 * counts.
 */
const fewTokens = 256
const long = 2
/** Seconds for more, each of two times: the first makes room for arrays of that size. */
const patience = 1.5

/** Tokens trained a second. */
export const rate = ({ seconds, tokens }: Trial): number => tokens / seconds

/** Tries sequences of the length that is expected, of which a share is trained. */
export const run = Effect.fn("Trial.run")(function* (trainer: Measuring, { batchSize, share, whole }: Sizes) {
  const of = Effect.fnUntraced(function* (tokens: number, sequences: number) {
    const trained = Math.max(1, Math.round(share * tokens))
    return { tokens: tokens * sequences, seconds: yield* trainer.measure({ tokens, trained, sequences }) }
  })
  const few = Math.min(batchSize, Math.max(1, Math.floor(fewTokens / whole)))
  const first: Trial = yield* of(Math.min(fewTokens, whole), few)
  if (first.seconds > long) return first
  const most = Math.min(batchSize, Math.floor((patience * first.tokens) / first.seconds / whole))
  if (most <= few) return yield* of(Math.min(fewTokens, whole), few)
  const trials = [yield* of(whole, most), yield* of(whole, most)] as const
  return trials[1].seconds < trials[0].seconds ? trials[1] : trials[0]
})
