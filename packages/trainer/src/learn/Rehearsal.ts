/** How long the gradient of a sequence takes: one that is made up, whose gradient is thrown away. */
import { Clock, Effect } from "effect"
import type { Learner } from "./Learner.ts"
import type { Objective } from "../loss/Objective.ts"
import * as MicroBatch from "./MicroBatch.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"

/** Every token is trained; which they are makes no difference to the work. */
const sequenceOf = (tokens: number, vocabSize: number): TrainingSequence => ({
  tokens: Int32Array.from({ length: tokens }, (_, t) => (t * 7919) % vocabSize),
  mask: new Uint8Array(tokens).fill(1),
  advantages: new Float32Array(tokens).fill(1),
  temperature: 1,
  score: 1,
  policyVersion: null,
  group: 0
})

export const make = (options: {
  readonly learner: Pick<Learner, "compute" | "discard">
  readonly objective: Objective
  readonly vocabSize: number
  readonly multiple: number
}) => {
  const { learner, multiple, objective, vocabSize } = options
  const packed = (tokens: number) =>
    MicroBatch.pack([sequenceOf(tokens + 1, vocabSize)], objective, {
      ...MicroBatch.defaults,
      maxLength: tokens,
      tokenBudget: tokens,
      multiple,
      vocabSize
    })
  /** Seconds. The graph's first run prepares it, and is not counted. */
  return Effect.fn("Rehearsal.measure")(function* (tokens: number) {
    const batch = packed(tokens)
    yield* learner.compute(batch)
    const start = yield* Clock.currentTimeNanos
    yield* learner.compute(batch)
    const seconds = Number((yield* Clock.currentTimeNanos) - start) / 1e9
    yield* learner.discard
    return seconds
  })
}
