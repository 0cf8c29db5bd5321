/** Fills the arrays of a micro-batch from its items. All are (B, T), row by row, unless stated otherwise. */
import { Trajectory } from "@atropos/core"
import * as TrainingSequence from "../learn/TrainingSequence.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"

/** Position of an item of the batch in the grid. */
export interface Placement {
  readonly item: number
  readonly row: number
  readonly start: number
  /** Positions, one fewer than tokens. */
  readonly length: number
}

/** Graph input for a missing logprob: NaN times 0 would be NaN. No logprob is above 0. */
const unknown = 1

/** The teacher's candidates, padded to K = `width`. */
export interface DistillArrays {
  readonly width: number
  /** (B, T, K), 0 at padding. */
  readonly tokenIds: Int32Array
  /** (B, T, K) nats, -Infinity at padding. */
  readonly logprobs: Float32Array
}

export interface PairArrays {
  /** Index of the other sequence in the row, -1 if none. */
  readonly partnerIds: Int32Array
  /** 1 for the better of two, -1 for the other, else 0. */
  readonly preferences: Float32Array
}

export interface MicroBatchArrays {
  /** 0 at padding, like all ids. */
  readonly inputIds: Int32Array
  readonly targetIds: Int32Array
  readonly positionIds: Int32Array
  /** Index of the sequence in its row, -1 at padding. */
  readonly segmentIds: Int32Array
  /** 1 where the target is trained. */
  readonly lossMask: Float32Array
  /** The batch's weight of this token's loss. 0 where masked. */
  readonly tokenWeights: Float64Array
  readonly advantages: Float32Array
  /**
   * Nats of the sampler. Where not sampled: the trainer's before the first update with the batch, or `unknown` in that
   * update, which treats the token as sampled by the current policy.
   */
  readonly oldLogprobs: Float32Array
  readonly engineLogprobs: Float32Array
  /** Nats, `unknown` at padding: the trainer's before the first update with the batch; absent in that one. */
  readonly trainerLogprobs: Float32Array | undefined
  /** Nats; absent if any sequence has none. */
  readonly refLogprobs: Float32Array | undefined
  /** The teacher's logprobs of the tokens themselves, nats; `unknown` if missing. Absent if no sequence has any. */
  readonly teacherLogprobs: Float32Array | undefined
  readonly pairs: PairArrays | undefined
  readonly temperatures: Float32Array
  readonly distill: DistillArrays | undefined
  /** Per placement, as in `TrainingSequence`. */
  readonly routedExperts: ReadonlyArray<Int32Array | undefined>
}

const distillOf = (
  { items, sequences }: WeightedBatch,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): DistillArrays | undefined => {
  const width = placements.reduce(
    (max, { item }) =>
      (sequences[items[item]!.sequence]!.distillTokenIds ?? []).reduce((k, ids) => Math.max(k, ids.length), max),
    0
  )
  if (width === 0) return undefined
  const tokenIds = new Int32Array(size * width)
  const logprobs = new Float32Array(size * width).fill(-Infinity)
  for (const { item, length: positions, row, start } of placements) {
    const { distillLogprobs, distillTokenIds } = sequences[items[item]!.sequence]!
    for (let t = 0; t < positions; t++) {
      const ids = distillTokenIds?.[t + 1]
      const teacherLogprobs = distillLogprobs?.[t + 1]
      if (ids === undefined || teacherLogprobs === undefined) continue
      const at = (row * length + start + t) * width
      tokenIds.set(ids, at)
      logprobs.set(teacherLogprobs.subarray(0, ids.length), at)
    }
  }
  return { width, tokenIds, logprobs }
}

const pairsOf = (
  { items, sequences }: WeightedBatch,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): PairArrays | undefined => {
  const sequenceOf = ({ item }: Placement) => items[item]!.sequence
  if (placements.every((place) => sequences[sequenceOf(place)]!.pair === undefined)) return undefined
  const partnerIds = new Int32Array(size).fill(-1)
  const preferences = new Float32Array(size)
  for (const place of placements) {
    const { pair } = sequences[sequenceOf(place)]!
    if (pair === undefined) continue
    const inRow = placements.filter(({ row }) => row === place.row)
    const at = place.row * length + place.start
    const partner = inRow.findIndex((other) => sequenceOf(other) === pair.partner)
    partnerIds.fill(partner, at, at + place.length)
    preferences.fill(pair.preference, at, at + place.length)
  }
  return { partnerIds, preferences }
}

const teacherOf = (
  { items, sequences }: WeightedBatch,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): Float32Array | undefined => {
  const sequenceOf = ({ item }: Placement) => sequences[items[item]!.sequence]!
  if (placements.every((place) => sequenceOf(place).distillTokenIds === undefined)) return undefined
  const logprobs = new Float32Array(size).fill(unknown)
  for (const place of placements) {
    for (let t = 0; t < place.length; t++) {
      const logprob = TrainingSequence.teacherLogprob(sequenceOf(place), t + 1)
      if (logprob !== undefined) logprobs[place.row * length + place.start + t] = logprob
    }
  }
  return logprobs
}

/** Fills `rows` rows of `length` positions. */
export const fill = (
  batch: WeightedBatch,
  placements: ReadonlyArray<Placement>,
  rows: number,
  length: number
): MicroBatchArrays => {
  const { items, oldLogprobs, sequences } = batch
  const size = rows * length
  const hasReference = placements.every(({ item }) => sequences[items[item]!.sequence]!.refLogprobs !== undefined)
  const trainerLogprobs = oldLogprobs && new Float32Array(size).fill(unknown)
  for (const { item, row, start } of placements) trainerLogprobs?.set(oldLogprobs![item]!, row * length + start)
  const arrays = {
    inputIds: new Int32Array(size),
    targetIds: new Int32Array(size),
    positionIds: new Int32Array(size),
    segmentIds: new Int32Array(size).fill(-1),
    lossMask: new Float32Array(size),
    tokenWeights: new Float64Array(size),
    advantages: new Float32Array(size),
    oldLogprobs: trainerLogprobs?.slice() ?? new Float32Array(size).fill(unknown),
    engineLogprobs: new Float32Array(size).fill(unknown),
    trainerLogprobs,
    refLogprobs: hasReference ? new Float32Array(size) : undefined,
    teacherLogprobs: teacherOf(batch, placements, size, length),
    pairs: pairsOf(batch, placements, size, length),
    temperatures: new Float32Array(size).fill(1),
    distill: distillOf(batch, placements, size, length),
    routedExperts: placements.map(({ item }) => sequences[items[item]!.sequence]!.routedExperts)
  }
  let row = -1
  let segment = 0
  for (const placement of placements) {
    const { sequence, weight } = items[placement.item]!
    const { advantages, engineLogprobs, mask, refLogprobs, temperature, tokens } = sequences[sequence]!
    const at = placement.row * length + placement.start
    const end = placement.length + 1
    segment = placement.row === row ? segment + 1 : 0
    row = placement.row
    arrays.inputIds.set(tokens.subarray(0, placement.length), at)
    arrays.targetIds.set(tokens.subarray(1, end), at)
    arrays.segmentIds.fill(segment, at, at + placement.length)
    arrays.lossMask.set(mask.subarray(1, end), at)
    for (let t = 0; t < placement.length; t++) {
      arrays.positionIds[at + t] = t
      arrays.tokenWeights[at + t] = mask[t + 1]! * weight
    }
    arrays.advantages.set(advantages.subarray(1, end), at)
    if (engineLogprobs !== undefined) {
      for (let t = 0; t < placement.length; t++) {
        const logprob = engineLogprobs[t + 1]!
        if (!Trajectory.isSampled(logprob)) continue
        arrays.oldLogprobs[at + t] = logprob
        arrays.engineLogprobs[at + t] = logprob
      }
    }
    if (refLogprobs !== undefined) arrays.refLogprobs?.set(refLogprobs.subarray(1, end), at)
    arrays.temperatures.fill(temperature, at, at + placement.length)
  }
  return arrays
}
