/**
 * Which of a step's sequences are recorded with the trainer's own logprobs, to be looked at token by token: at most so
 * many tokens of a step, whatever the batch.
 *
 * Those of a small batch are recorded all. Of a larger one half of the tokens goes to the sequences at which trainer
 * and sampler differ most on average, the other half to sequences taken evenly from the rest, so that what is usual can
 * be seen too. A sequence that has no room is cut off. What is chosen depends on the batch alone. Sequences whose
 * sampler told no logprobs that could be compared are left out.
 */
import type { PackedLogprobs, ScoredGroup } from "@atropos/core"
import type { Look } from "./LearnerEngine.ts"
import { isUnknown, type TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

type Row = PackedLogprobs.RecordedRow

interface Seen extends Row {
  /** Mean |log π_trainer - log π_sampler| of its trained tokens, nats; 0 where none has a sampler's. */
  readonly difference: number
}

/** Places of the sequences of a batch, by their tokens, which are the batch's own arrays all along. */
const placesOf = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>) =>
  new Map(groups.flatMap(({ tokens }, group) => tokens.map((row, sequence) => [row, { group, sequence }] as const)))

/** From its first to its last trained token; NaN at those between that are not trained. */
const seen = (
  { engineLogprobs, mask }: TrainingSequence,
  logprobs: Float32Array,
  place: Pick<Row, "group" | "sequence">
): Seen | undefined => {
  const trained = mask.subarray(0, logprobs.length + 1)
  const from = trained.indexOf(1, 1)
  if (engineLogprobs === undefined || from < 0) return undefined
  const row = logprobs.slice(from - 1, trained.lastIndexOf(1))
  let compared = 0
  let sum = 0
  for (let i = 0; i < row.length; i++) {
    if (trained[from + i] === 0) row[i] = Number.NaN
    const sampled = engineLogprobs[from + i]!
    if (Number.isNaN(row[i]!) || isUnknown(sampled)) continue
    compared++
    sum += Math.abs(row[i]! - sampled)
  }
  return { ...place, from, logprobs: row, difference: compared === 0 ? 0 : sum / compared }
}

const tokensOf = (rows: ReadonlyArray<Row>): number => rows.reduce((sum, { logprobs }) => sum + logprobs.length, 0)

/** As many as have room in `tokens`, in their order; the last one is cut off. */
const fill = (rows: ReadonlyArray<Seen>, tokens: number): Array<Seen> => {
  const taken: Array<Seen> = []
  let room = tokens
  for (const row of rows) {
    if (room === 0) break
    taken.push(row.logprobs.length <= room ? row : { ...row, logprobs: row.logprobs.slice(0, room) })
    room -= Math.min(room, row.logprobs.length)
  }
  return taken
}

/** The same, those first that are taken at even distances. */
const evenly = (rows: ReadonlyArray<Seen>, tokens: number): ReadonlyArray<Seen> => {
  const wanted = Math.min(rows.length, Math.ceil((tokens * rows.length) / Math.max(1, tokensOf(rows))))
  const chosen = new Set(Array.from({ length: wanted }, (_, i) => Math.floor(((i + 0.5) * rows.length) / wanted)))
  return [...rows.filter((_, i) => chosen.has(i)), ...rows.filter((_, i) => !chosen.has(i))]
}

export interface LogprobSample {
  readonly add: Look
  /** What is recorded of what was added. */
  readonly rows: () => ReadonlyArray<Row>
}

/** Of a batch as it was claimed, and what is learned from it. At most `mostTokens`. */
export const make = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  { items, sequences }: WeightedBatch,
  mostTokens: number
): LogprobSample => {
  const places = placesOf(groups)
  const all: Array<Seen | undefined> = []
  return {
    add: (item, logprobs) => {
      const sequence = sequences[items[item]!.sequence]!
      const place = places.get(sequence.tokens)
      all[item] = place && seen(sequence, logprobs, place)
    },
    rows: () => {
      const known = all.filter((one) => one !== undefined)
      if (tokensOf(known) <= mostTokens) return known
      const greatest = fill(
        known.toSorted((a, b) => b.difference - a.difference),
        Math.ceil(mostTokens / 2)
      )
      const places = new Set(greatest.map(({ group, sequence }) => `${group} ${sequence}`))
      const rest = known.filter(({ group, sequence }) => !places.has(`${group} ${sequence}`))
      const room = mostTokens - tokensOf(greatest)
      return [...greatest, ...fill(evenly(rest, room), room)]
    }
  }
}
