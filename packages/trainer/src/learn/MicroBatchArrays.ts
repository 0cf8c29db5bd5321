/** The arrays of a micro-batch, filled from its sequences. All are (B, T), row after row, unless said otherwise. */
import { Trajectory } from "@atropos/core"
import type { Placement } from "./MicroBatch.ts"
import * as TrainingSequence from "./TrainingSequence.ts"

/** What the graph is fed for a logprob that is none: NaN times 0 would be NaN. No logprob is above 0. */
const unknown = 1

/** The teacher's candidates of a micro-batch, padded to K = `width`. */
export interface DistillArrays {
  readonly width: number
  /** (B, T, K), 0 where padded. */
  readonly tokenIds: Int32Array
  /** (B, T, K) nats, -Infinity where padded. */
  readonly logprobs: Float32Array
}

/** Sequences that are compared with another of their row. */
export interface PairArrays {
  /** Index of the other sequence in the row, -1 where there is none. */
  readonly partnerIds: Int32Array
  /** 1 at the better of two, -1 at the other, else 0. */
  readonly preferences: Float32Array
}

export interface MicroBatchArrays {
  /** 0 where padded, as all ids. */
  readonly inputIds: Int32Array
  readonly targetIds: Int32Array
  readonly positionIds: Int32Array
  /** Index of the sequence in its row, -1 where padded. */
  readonly segmentIds: Int32Array
  /** 1 where the target is trained. */
  readonly lossMask: Float32Array
  /** The batch's weight of this token: what its loss is multiplied with. 0 where masked. */
  readonly tokenWeights: Float64Array
  readonly advantages: Float32Array
  /** Nats, `unknown` where not sampled: there the present policy is taken to have sampled. */
  readonly oldLogprobs: Float32Array
  readonly engineLogprobs: Float32Array
  /** Nats; absent where any sequence has none. */
  readonly refLogprobs: Float32Array | undefined
  /** The teacher's of the tokens themselves, nats; `unknown` where it gave none. Absent where no sequence has any. */
  readonly teacherLogprobs: Float32Array | undefined
  readonly pairs: PairArrays | undefined
  readonly temperatures: Float32Array
  readonly distill: DistillArrays | undefined
}

const distillOf = (
  sequences: ReadonlyArray<TrainingSequence.TrainingSequence>,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): DistillArrays | undefined => {
  const width = placements.reduce(
    (most, { sequence }) =>
      (sequences[sequence]!.distillTokenIds ?? []).reduce((k, ids) => Math.max(k, ids.length), most),
    0
  )
  if (width === 0) return undefined
  const tokenIds = new Int32Array(size * width)
  const logprobs = new Float32Array(size * width).fill(-Infinity)
  for (const { length: positions, row, sequence, start } of placements) {
    const { distillLogprobs, distillTokenIds } = sequences[sequence]!
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
  sequences: ReadonlyArray<TrainingSequence.TrainingSequence>,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): PairArrays | undefined => {
  if (placements.every(({ sequence }) => sequences[sequence]!.pair === undefined)) return undefined
  const partnerIds = new Int32Array(size).fill(-1)
  const preferences = new Float32Array(size)
  const inRow = (row: number) => placements.filter((place) => place.row === row)
  for (const { length: positions, row, sequence, start } of placements) {
    const { pair } = sequences[sequence]!
    if (pair === undefined) continue
    const at = row * length + start
    const partner = inRow(row).findIndex((place) => place.sequence === pair.partner)
    partnerIds.fill(partner, at, at + positions)
    preferences.fill(pair.preference, at, at + positions)
  }
  return { partnerIds, preferences }
}

const teacherOf = (
  sequences: ReadonlyArray<TrainingSequence.TrainingSequence>,
  placements: ReadonlyArray<Placement>,
  size: number,
  length: number
): Float32Array | undefined => {
  if (placements.every(({ sequence }) => sequences[sequence]!.distillTokenIds === undefined)) return undefined
  const logprobs = new Float32Array(size).fill(unknown)
  for (const { length: positions, row, sequence, start } of placements) {
    for (let t = 0; t < positions; t++) {
      const logprob = TrainingSequence.teacherLogprob(sequences[sequence]!, t + 1)
      if (logprob !== undefined) logprobs[row * length + start + t] = logprob
    }
  }
  return logprobs
}

/** Arrays of `rows` rows of `length` positions. */
export const fill = (
  sequences: ReadonlyArray<TrainingSequence.TrainingSequence>,
  placements: ReadonlyArray<Placement>,
  weightOf: (sequence: number) => number,
  rows: number,
  length: number
): MicroBatchArrays => {
  const size = rows * length
  const hasReference = placements.every(({ sequence }) => sequences[sequence]!.refLogprobs !== undefined)
  const arrays = {
    inputIds: new Int32Array(size),
    targetIds: new Int32Array(size),
    positionIds: new Int32Array(size),
    segmentIds: new Int32Array(size).fill(-1),
    lossMask: new Float32Array(size),
    tokenWeights: new Float64Array(size),
    advantages: new Float32Array(size),
    oldLogprobs: new Float32Array(size).fill(unknown),
    engineLogprobs: new Float32Array(size).fill(unknown),
    refLogprobs: hasReference ? new Float32Array(size) : undefined,
    teacherLogprobs: teacherOf(sequences, placements, size, length),
    pairs: pairsOf(sequences, placements, size, length),
    temperatures: new Float32Array(size).fill(1),
    distill: distillOf(sequences, placements, size, length)
  }
  let row = -1
  let segment = 0
  for (const placement of placements) {
    const { advantages, engineLogprobs, mask, refLogprobs, temperature, tokens } = sequences[placement.sequence]!
    const at = placement.row * length + placement.start
    const end = placement.length + 1
    segment = placement.row === row ? segment + 1 : 0
    row = placement.row
    arrays.inputIds.set(tokens.subarray(0, placement.length), at)
    arrays.targetIds.set(tokens.subarray(1, end), at)
    arrays.segmentIds.fill(segment, at, at + placement.length)
    arrays.lossMask.set(mask.subarray(1, end), at)
    const weight = weightOf(placement.sequence)
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
