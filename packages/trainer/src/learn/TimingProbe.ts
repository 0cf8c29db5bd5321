/** Measures the time of a gradient on synthetic sequences; the gradient is discarded. */
import { Clock, Effect } from "effect"
import type { Learner } from "./LearnerEngine.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

export interface Probe {
  readonly tokens: number
  /** Number of trained tokens at the end of each sequence; the rest is context. Default: all. */
  readonly trained?: number
  readonly sequences: number
  /** Consecutive sequences with the same context. Default: 1. */
  readonly groupSize?: number
}

/** The token ids do not affect the cost. */
const batchOf = ({ groupSize = 1, sequences, tokens, trained = tokens }: Probe, vocabSize: number): WeightedBatch => {
  const sequence = (group: number): TrainingSequence => ({
    tokens: Int32Array.from({ length: tokens + 1 }, (_, t) => (t * 7919) % vocabSize),
    mask: new Uint8Array(tokens + 1).fill(1, tokens + 1 - trained),
    advantages: new Float32Array(tokens + 1).fill(1),
    temperature: 1,
    score: 1,
    policyVersion: null,
    group
  })
  const weight = 1 / (trained * sequences)
  return {
    sequences: Array.from({ length: sequences }, (_, at) => sequence(Math.floor(at / groupSize))),
    items: Array.from({ length: sequences }, (_, at) => ({ sequence: at, length: tokens, trained, weight }))
  }
}

/**
 * Seconds for these tokens; padding does not count, a shared context counts for each sequence. A graph's first run
 * prepares it and takes longer.
 */
export const measure = Effect.fn("TimingProbe.measure")(function* (
  learner: Pick<Learner, "forwardBackward" | "discard">,
  vocabSize: number,
  probe: Probe
) {
  const batch = batchOf(probe, vocabSize)
  const tokens = probe.tokens * probe.sequences
  const start = yield* Clock.currentTimeNanos
  const { positions } = yield* learner.forwardBackward(batch)
  const seconds = Number((yield* Clock.currentTimeNanos) - start) / 1e9
  yield* learner.discard
  return (seconds * tokens) / Math.max(tokens, positions)
})
