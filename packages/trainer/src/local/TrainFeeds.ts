/**
 * Builds the inputs of a training graph from a micro-batch. Arrays may be shared with the micro-batch: do not transfer
 * them.
 */
import { Schema } from "effect"
import type { MicroBatch } from "./MicroBatch.ts"
import type { DistillArrays } from "./MicroBatchArrays.ts"
import type { Objective } from "../loss/Objective.ts"
import * as RoutedExperts from "../model/part/RoutedExperts.ts"

/** The caller omitted an input that the objective needs. A bug, so it is thrown. */
export class MissingFeed extends Schema.TaggedError<MissingFeed>()("MissingFeed", {
  objective: Schema.String,
  input: Schema.String
}) {
  override get message() {
    return `loss ${this.objective} needs ${this.input}, which this micro-batch lacks: add it with withLogprobs`
  }
}

export interface FeedTensor {
  readonly dtype: "float32" | "float64" | "int32"
  readonly shape: ReadonlyArray<number>
  readonly data: Float32Array | Float64Array | Int32Array
}

export type Feeds = Readonly<Record<string, FeedTensor>>

type Real = "float32" | "float64"

const powerOfTwo = (min: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, min)))

const reals = (real: Real, data: Float32Array | Float64Array, shape: ReadonlyArray<number>): FeedTensor => {
  if (real === "float64") return { dtype: real, shape, data: Float64Array.from(data) }
  return { dtype: real, shape, data: data instanceof Float32Array ? data : Float32Array.from(data) }
}

const integers = (data: Int32Array, shape: ReadonlyArray<number>): FeedTensor => ({ dtype: "int32", shape, data })

/** The teacher's candidate probabilities, normalized to sum to 1, and their entropies; all 0 if none. */
export const teacher = ({ logprobs, width }: DistillArrays) => {
  const weights = Float64Array.from(logprobs, Math.exp)
  const entropies = new Float64Array(logprobs.length / width)
  for (let position = 0; position < entropies.length; position++) {
    const at = position * width
    const mass = weights.subarray(at, at + width).reduce((sum, weight) => sum + weight, 0)
    if (mass === 0) continue
    for (let k = at; k < at + width; k++) {
      if (weights[k] === 0) continue
      weights[k]! /= mass
      entropies[position]! -= weights[k]! * Math.log(weights[k]!)
    }
  }
  return { weights, entropies }
}

/** Positions at which logprobs are computed: all, or the trained ones (and some others as padding). */
export type Positions = "all" | "trained"

/** Max number of distinct counts of trained positions, so that memory is laid out for few sizes. */
const sizes = 16

/** The selected positions in ascending order, and the index of each position among them. */
const headFeeds = ({ length, lossMask, multiple, rows }: MicroBatch, positions: Positions): Feeds => {
  const all = rows * length
  const isTrained = (at: number) => positions === "all" || lossMask[at] === 1
  let trained = 0
  for (let at = 0; at < all; at++) if (isTrained(at)) trained++
  const step = multiple * Math.ceil(all / (sizes * multiple))
  const count = Math.min(all, step * Math.max(1, Math.ceil(trained / step)))
  const ids = new Int32Array(count)
  const slots = new Int32Array(all).fill(count)
  let others = count - trained
  let slot = 0
  for (let at = 0; at < all; at++) {
    if (!isTrained(at) && others-- <= 0) continue
    ids[slot] = at
    slots[at] = slot++
  }
  return { head_ids: integers(ids, [count]), head_slots: integers(slots, [rows, length]) }
}

export const idFeeds = (batch: MicroBatch, positions: Positions, real: Real = "float32"): Feeds => {
  const shape = [batch.rows, batch.length]
  return {
    ...headFeeds(batch, positions),
    input_ids: integers(batch.inputIds, shape),
    target_ids: integers(batch.targetIds, shape),
    position_ids: integers(batch.positionIds, shape),
    segment_ids: integers(batch.segmentIds, shape),
    ...(batch.shared && {
      prompt_ids: integers(batch.shared.promptIds, shape),
      begins: integers(batch.shared.begins, shape)
    }),
    temperatures: reals(real, batch.temperatures, shape)
  }
}

/**
 * The sampler's expert choices, for graphs that replay them; for sequences without any the router chooses. `isReplayed`
 * false: the router chooses for all.
 */
export const routingFeeds = (
  { length, placements, routedExperts, rows }: MicroBatch,
  routing: RoutedExperts.Routing | undefined,
  isReplayed = true
): Feeds => {
  if (routing === undefined) return {}
  const { layers, perToken } = routing
  const each = RoutedExperts.choicesOf(routing)
  const choices = new Int32Array(rows * length * each).fill(RoutedExperts.unknown)
  for (const [i, { length: positions, row, start }] of placements.entries()) {
    const words = routedExperts[i]
    if (!isReplayed || words === undefined) continue
    RoutedExperts.unpack(routing, words, positions, choices, (row * length + start) * each)
  }
  return { routed_experts: integers(choices, [rows, length, layers, perToken]) }
}

const distillFeeds = (batch: MicroBatch, real: Real): Feeds => {
  const size = batch.rows * batch.length
  // A batch without a teacher gets one candidate of weight 0 everywhere: no loss.
  const distill = batch.distill ?? {
    width: 1,
    tokenIds: new Int32Array(size),
    logprobs: new Float32Array(size).fill(-Infinity)
  }
  const { entropies, weights } = teacher(distill)
  const shape = [batch.rows, batch.length, distill.width]
  return {
    distill_ids: integers(distill.tokenIds, shape),
    distill_weights: reals(real, weights, shape),
    distill_entropies: reals(real, entropies, shape.slice(0, 2))
  }
}

/** Old logprobs for the objective; unknown ones mean the current policy. */
const oldLogprobs = (batch: MicroBatch, { oldPolicy }: Objective): Float32Array => {
  if (oldPolicy === "engine") return batch.oldLogprobs
  return batch.trainerLogprobs ?? new Float32Array(batch.oldLogprobs.length).fill(1)
}

/** Marks all logprobs as missing. */
const none = ({ length, rows }: MicroBatch): Float32Array => new Float32Array(rows * length).fill(1)

const pairFeeds = ({ length, pairs, rows }: MicroBatch, real: Real): Feeds => {
  const shape = [rows, length]
  return {
    partner_ids: integers(pairs?.partnerIds ?? new Int32Array(rows * length).fill(-1), shape),
    preferences: reals(real, pairs?.preferences ?? new Float32Array(rows * length), shape)
  }
}

const entropyFeed = ({ entropyThreshold }: MicroBatch, { name }: Objective, real: Real): Feeds => {
  if (entropyThreshold === undefined) throw new MissingFeed({ objective: name, input: "entropy_threshold" })
  return { entropy_threshold: reals(real, Float64Array.of(entropyThreshold), []) }
}

/** All inputs of this objective's training graph except `theta`. */
export const feeds = (batch: MicroBatch, objective: Objective, real: Real = "float32"): Feeds => {
  const shape = [batch.rows, batch.length]
  const slots = Math.max(...batch.segmentIds.values().map((segment) => segment + 1))
  const { needsReference } = objective
  if (needsReference && batch.refLogprobs === undefined) {
    throw new MissingFeed({ objective: objective.name, input: "ref_logprobs" })
  }
  return {
    ...idFeeds(batch, "trained", real),
    loss_mask: reals(real, batch.lossMask, shape),
    token_weights: reals(real, batch.tokenWeights, shape),
    advantages: reals(real, batch.advantages, shape),
    old_logprobs: reals(real, oldLogprobs(batch, objective), shape),
    engine_logprobs: reals(real, batch.engineLogprobs, shape),
    ...(needsReference && batch.refLogprobs && { ref_logprobs: reals(real, batch.refLogprobs, shape) }),
    ...(objective.needsTeacher && { teacher_logprobs: reals(real, batch.teacherLogprobs ?? none(batch), shape) }),
    ...(objective.needsPairs && pairFeeds(batch, real)),
    ...(objective.entropyQuantile !== null && entropyFeed(batch, objective, real)),
    ...((objective.needsSequences || objective.needsPairs) && {
      sequence_slots: integers(Int32Array.from(Array(powerOfTwo(slots)).keys()), [powerOfTwo(slots)])
    }),
    ...(objective.candidates === "teacher" && distillFeeds(batch, real))
  }
}

/** Adds outputs of the logprobs graph to the micro-batch: reference logprobs, the batch's entropy threshold. */
export const withLogprobs = (
  batch: MicroBatch,
  input: { readonly refLogprobs?: Float32Array; readonly entropyThreshold?: number }
): MicroBatch => ({ ...batch, ...input })
