/**
 * What a trainer computed of the sequences of a group before it learned from them: its own logprobs of their tokens, to
 * be held against the sampler's. They are for people alone, and kept of a share of each step's sequences.
 *
 * Arrays begin at the first token that was recorded, and have NaN where a token was not trained on.
 *
 *     JSON   "trainer_logprobs": [null, [1, 1, -0.25, …]], "trainer_version": 12
 *
 * A row of JSON begins at token 0 and ends with the last that was recorded; 1 stands for "not recorded", as it stands
 * for "not sampled" among the sampler's; null for a sequence that nothing was recorded of.
 */
import * as Labels from "./Labels.ts"

/** Of one sequence of T tokens. */
export interface TrainedRow {
  /** Place of the first token that was recorded, from 0. */
  readonly from: number
  /** Nats, at the temperature of the sequence, of the tokens from there on; at most T - `from`. */
  readonly logprobs: Float32Array
}

/** Of one group. */
export interface TrainedLogprobs {
  /** Version of the weights that computed them; null where nobody told. */
  readonly policyVersion: number | null
  /** (G) null: nothing was recorded of it. */
  readonly rows: ReadonlyArray<TrainedRow | null>
}

const outside = ({ from, logprobs }: TrainedRow): Float32Array => {
  const row = new Float32Array(from + logprobs.length).fill(Labels.unsampled, 0, from)
  Labels.writeLogprobs(row, from, logprobs)
  return row
}

/** Its keys in the JSON of a group, in pieces of text: without braces, to stand behind other keys. */
export const toJson = ({ policyVersion, rows }: TrainedLogprobs): string => {
  // Single precision: more digits than nine say nothing.
  const written = rows.map((row) =>
    row === null ? "null" : `[${Array.from(outside(row), (value) => String(Number(value.toPrecision(9)))).join(",")}]`
  )
  return `"trainer_logprobs":[${written.join(",")}],"trainer_version":${policyVersion}`
}

const toRow = (value: unknown): TrainedRow | null => {
  if (!Array.isArray(value) || !value.every((one) => typeof one === "number")) return null
  const logprobs = Labels.toLogprobs(value)
  const from = logprobs.findIndex((logprob) => !Number.isNaN(logprob))
  return from < 0 ? null : { from, logprobs: logprobs.subarray(from) }
}

/** Reads them from the JSON of a group of `sequences`; undefined where there are none, or they are of another form. */
export const ofJson = (
  { trainer_logprobs: rows, trainer_version: version }: { readonly [key: string]: unknown },
  sequences: number
): TrainedLogprobs | undefined =>
  Array.isArray(rows) && rows.length === sequences
    ? { policyVersion: Number.isInteger(version) ? Number(version) : null, rows: rows.map(toRow) }
    : undefined
