/**
 * Converts items of a batch to a server's data: position t holds token t, its target is token t + 1.
 *
 * The server's logprobs are at temperature 1: sequences sampled at another temperature are rejected.
 */
import { Effect } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import { type Item, truncationProblem, type WeightedBatch } from "../learn/WeightedBatch.ts"
import type { Datum } from "./protocol/ForwardBackward.ts"
import type { Result } from "./protocol/ForwardBackwardResult.ts"
import * as Tensor from "./protocol/Tensor.ts"

export const check = (server: string, batch: WeightedBatch): Effect.Effect<void, TrainerError> => {
  const { items, sequences } = batch
  const problem = truncationProblem(batch, server)
  if (problem !== undefined) return Effect.fail(new TrainerError({ reason: "settings", message: problem }))
  const other = items.find(({ sequence }) => sequences[sequence]!.temperature !== 1)
  if (other === undefined) return Effect.void
  const { temperature } = sequences[other.sequence]!
  return Effect.fail(
    new TrainerError({
      reason: "settings",
      message: `${server} computes logprobs of temperature 1 only, and a sequence was sampled at temperature ${temperature}: sample at 1`
    })
  )
}

const tokensOf = ({ sequences }: WeightedBatch, { length, sequence }: Item) => {
  const { tokens } = sequences[sequence]!
  return { tokens: tokens.slice(0, length), targets: tokens.slice(1, length + 1) }
}

/** Cross-entropy data; `weights` (length) of each item. */
export const weighted = (batch: WeightedBatch, weights: ReadonlyArray<Float32Array>): ReadonlyArray<Datum> =>
  batch.items.map((item, index) => {
    const { targets, tokens } = tokensOf(batch, item)
    return {
      tokens,
      inputs: new Map([
        ["target_tokens", Tensor.row(targets)],
        ["weights", Tensor.row(weights[index]!)]
      ])
    }
  })

/** Policy loss data: logprobs of the sampling policy, and advantages, (length) of each item. */
export const advantaged = (
  batch: WeightedBatch,
  logprobs: ReadonlyArray<Float32Array>,
  advantages: ReadonlyArray<Float32Array>
): ReadonlyArray<Datum> =>
  batch.items.map((item, index) => {
    const { targets, tokens } = tokensOf(batch, item)
    return {
      tokens,
      inputs: new Map([
        ["target_tokens", Tensor.row(targets)],
        ["logprobs", Tensor.row(logprobs[index]!)],
        ["advantages", Tensor.row(advantages[index]!)]
      ])
    }
  })

/** 1 at trained positions, for passes without gradient. */
export const masks = ({ items, sequences }: WeightedBatch): ReadonlyArray<Float32Array> =>
  items.map(({ length, sequence }) => Float32Array.from(sequences[sequence]!.mask.subarray(1, length + 1)))

export const logprobsOf = Effect.fnUntraced(function* (
  server: string,
  data: ReadonlyArray<Datum>,
  { outputs }: Result
) {
  const rows: Array<Float32Array> = []
  for (const [index, { tokens }] of data.entries()) {
    const values = outputs[index]?.get("logprobs")?.values
    if (!(values instanceof Float32Array) || values.length !== tokens.length) {
      return yield* new TrainerError({
        reason: "engine",
        message: `${server} answered datum ${index} of ${tokens.length} tokens with ${values?.length ?? "no"} logprobs`
      })
    }
    rows.push(values)
  }
  return rows
})
