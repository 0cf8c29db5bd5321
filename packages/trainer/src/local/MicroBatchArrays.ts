/** Fills the arrays of a micro-batch from its items. All are (B, T), row by row, unless stated otherwise. */
import { Trajectory } from "@atropos/core"
import * as TrainingSequence from "../learn/TrainingSequence.ts"
import type { Item, WeightedBatch } from "../learn/WeightedBatch.ts"

/** Position of an item of the batch in the grid. */
export interface Placement {
  readonly item: number
  readonly row: number
  /** Of its own positions, which are the ones from `shared` on. */
  readonly start: number
  /** Positions, one fewer than tokens. */
  readonly length: number
  /** Its first positions, which other items of the row have too and the row has once, from `sharedStart` on. */
  readonly shared: number
  readonly sharedStart: number
}

/** Sequence and position ids of rows that hold prompts once (`sharesPrompts`). */
export interface SharedArrays {
  /** The segment of a token's shared prompt; its own segment if it has none. */
  readonly promptIds: Int32Array
  /** Where the first token that it may see is in its row. */
  readonly begins: Int32Array
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
  readonly shared: SharedArrays | undefined
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
  for (const { item, length: positions, row, shared, start } of placements) {
    const { distillLogprobs, distillTokenIds } = sequences[items[item]!.sequence]!
    for (let t = shared; t < positions; t++) {
      const ids = distillTokenIds?.[t + 1]
      const teacherLogprobs = distillLogprobs?.[t + 1]
      if (ids === undefined || teacherLogprobs === undefined) continue
      const at = (row * length + start + t - shared) * width
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
    for (let t = place.shared; t < place.length; t++) {
      const logprob = TrainingSequence.teacherLogprob(sequenceOf(place), t + 1)
      if (logprob !== undefined) logprobs[place.row * length + place.start + t - place.shared] = logprob
    }
  }
  return logprobs
}

/** Marks for each token where the tokens that it sees are: in its own segment, and in that of its shared prompt. */
const sharedOf = (segmentIds: Int32Array, placements: ReadonlyArray<Placement>, length: number): SharedArrays => {
  const promptIds = segmentIds.slice()
  const begins = Int32Array.from(segmentIds, (_, at) => at % length)
  for (const { length: positions, row, shared, sharedStart, start } of placements) {
    const [prompt, own, end] = [sharedStart, start, start + positions - shared].map((at) => row * length + at)
    begins.fill(sharedStart, prompt, prompt! + shared)
    begins.fill(sharedStart, own, end)
    if (shared > 0) promptIds.fill(segmentIds[prompt!]!, own, end)
  }
  return { promptIds, begins }
}

export interface Grid {
  readonly rows: number
  readonly length: number
  readonly sharesPrompts: boolean
}

/** Fills `rows` rows of `length` positions. */
export const fill = (
  batch: WeightedBatch,
  placements: ReadonlyArray<Placement>,
  { length, rows, sharesPrompts }: Grid
): MicroBatchArrays => {
  const { items, oldLogprobs, sequences } = batch
  const size = rows * length
  const hasReference = placements.every(({ item }) => sequences[items[item]!.sequence]!.refLogprobs !== undefined)
  const trainerLogprobs = oldLogprobs && new Float32Array(size).fill(unknown)
  for (const { item, row, shared, start } of placements) {
    trainerLogprobs?.set(oldLogprobs![item]!.subarray(shared), row * length + start)
  }
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
  /** Puts positions `from` to `to` of an item at index `at`, as a segment. */
  const put = ({ sequence, weight }: Item, [from, to]: readonly [number, number], at: number, segment: number) => {
    const { advantages, engineLogprobs, mask, refLogprobs, temperature, tokens } = sequences[sequence]!
    const end = at + to - from
    arrays.inputIds.set(tokens.subarray(from, to), at)
    arrays.targetIds.set(tokens.subarray(from + 1, to + 1), at)
    arrays.segmentIds.fill(segment, at, end)
    arrays.lossMask.set(mask.subarray(from + 1, to + 1), at)
    arrays.advantages.set(advantages.subarray(from + 1, to + 1), at)
    if (refLogprobs !== undefined) arrays.refLogprobs?.set(refLogprobs.subarray(from + 1, to + 1), at)
    arrays.temperatures.fill(temperature, at, end)
    for (let t = from; t < to; t++) {
      const index = at + t - from
      arrays.positionIds[index] = t
      arrays.tokenWeights[index] = mask[t + 1]! * weight
      const logprob = engineLogprobs?.[t + 1]
      if (logprob === undefined || !Trajectory.isSampled(logprob)) continue
      arrays.oldLogprobs[index] = logprob
      arrays.engineLogprobs[index] = logprob
    }
  }
  let row = -1
  let segment = 0
  for (const placement of placements) {
    const item = items[placement.item]!
    const { shared, sharedStart, start } = placement
    if (placement.row !== row) segment = 0
    row = placement.row
    const isFirst = start === sharedStart + shared
    if (shared > 0 && isFirst) put(item, [0, shared], row * length + sharedStart, segment++)
    put(item, [shared, placement.length], row * length + start, segment++)
  }
  return { ...arrays, shared: sharesPrompts ? sharedOf(arrays.segmentIds, placements, length) : undefined }
}
