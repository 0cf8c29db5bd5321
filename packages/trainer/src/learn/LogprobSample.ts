/**
 * Selects the sequences of a step whose trainer logprobs are recorded for token-level viewing, up to a token limit per
 * step.
 *
 * If they do not all fit, one half of the tokens goes to the sequences with the largest mean difference between trainer
 * and sampler, the other half to evenly spaced sequences from the rest. A sequence that exceeds the remaining limit is
 * truncated; those without comparable sampler logprobs are excluded. Depends only on the batch.
 */
import type { PackedLogprobs, ScoredGroup } from "@atropos/core"
import type { LogprobCallback } from "./LearnerEngine.ts"
import { isUnknown, type TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

type Row = PackedLogprobs.RecordedRow

interface Seen extends Row {
  /** Mean |log π_trainer - log π_sampler| of its trained tokens, nats; 0 if none has a sampler logprob. */
  readonly difference: number
}

/** Maps token arrays to positions in the batch; the arrays keep their identity throughout. */
const placesOf = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>) =>
  new Map(groups.flatMap(({ tokens }, group) => tokens.map((row, sequence) => [row, { group, sequence }] as const)))

/** Logprobs from the first to the last trained token; NaN at untrained tokens in between. */
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

/** Takes rows in order up to `tokens` tokens; truncates the last one. */
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

/** Reorders rows: first an evenly spaced selection of about `tokens` tokens, then the rest. */
const evenly = (rows: ReadonlyArray<Seen>, tokens: number): ReadonlyArray<Seen> => {
  const count = Math.min(rows.length, Math.ceil((tokens * rows.length) / Math.max(1, tokensOf(rows))))
  const selected = new Set(Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * rows.length) / count)))
  return [...rows.filter((_, i) => selected.has(i)), ...rows.filter((_, i) => !selected.has(i))]
}

export interface LogprobSample {
  readonly add: LogprobCallback
  readonly rows: () => ReadonlyArray<Row>
}

/** `groups` are the batch's as claimed, the weighted batch is what is trained on. Selects at most `maxTokens`. */
export const make = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  { items, sequences }: WeightedBatch,
  maxTokens: number
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
      if (tokensOf(known) <= maxTokens) return known
      const greatest = fill(
        known.toSorted((a, b) => b.difference - a.difference),
        Math.ceil(maxTokens / 2)
      )
      const places = new Set(greatest.map(({ group, sequence }) => `${group} ${sequence}`))
      const rest = known.filter(({ group, sequence }) => !places.has(`${group} ${sequence}`))
      const room = maxTokens - tokensOf(greatest)
      return [...greatest, ...fill(evenly(rest, room), room)]
    }
  }
}
