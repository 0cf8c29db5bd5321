/** How long the gradient of a sequence takes: one that is made up, whose gradient is thrown away. */
import { Clock, Effect } from "effect"
import type { Learner } from "./LearnerEngine.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

/** Every token is trained; which they are makes no difference to the work. */
const batchOf = (tokens: number, vocabSize: number): WeightedBatch => {
  const sequence: TrainingSequence = {
    tokens: Int32Array.from({ length: tokens + 1 }, (_, t) => (t * 7919) % vocabSize),
    mask: new Uint8Array(tokens + 1).fill(1),
    advantages: new Float32Array(tokens + 1).fill(1),
    temperature: 1,
    score: 1,
    policyVersion: null,
    group: 0
  }
  return { sequences: [sequence], items: [{ sequence: 0, length: tokens, trained: tokens, weight: 1 / tokens }] }
}

/** Seconds for so many tokens. The graph's first run prepares it, and is not counted; nor is padding. */
export const measure = Effect.fn("Rehearsal.measure")(function* (
  learner: Pick<Learner, "forwardBackward" | "discard">,
  vocabSize: number,
  tokens: number
) {
  const batch = batchOf(tokens, vocabSize)
  yield* learner.forwardBackward(batch)
  const start = yield* Clock.currentTimeNanos
  const { positions } = yield* learner.forwardBackward(batch)
  const seconds = Number((yield* Clock.currentTimeNanos) - start) / 1e9
  yield* learner.discard
  return (seconds * tokens) / Math.max(tokens, positions)
})
