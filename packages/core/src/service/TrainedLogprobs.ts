/**
 * Records a trainer's own logprobs of a group's tokens before it trained on them, to compare with the sampler's. For
 * display only, for a share of each step's sequences.
 *
 * Arrays begin at the first recorded token, and are NaN for tokens that were not trained on.
 *
 *     JSON   "trainer_logprobs": [null, [1, 1, -0.25, …]], "trainer_version": 12
 *
 * A JSON row begins at token 0 and ends with the last recorded token; 1 means "not recorded", as it means "not sampled"
 * in the sampler's logprobs; null if nothing was recorded for a sequence.
 */
import * as Labels from "../trajectory/Labels.ts"

/** A sequence of T tokens. */
export interface TrainedRow {
  /** Index of the first recorded token, from 0. */
  readonly from: number
  /** Nats, at the sequence's temperature, of the tokens from there on; at most T - `from`. */
  readonly logprobs: Float32Array
}

export interface TrainedLogprobs {
  /** Version of the weights that computed them; null if unknown. */
  readonly policyVersion: number | null
  /** (G) null: nothing was recorded for this sequence. */
  readonly rows: ReadonlyArray<TrainedRow | null>
}

const outside = ({ from, logprobs }: TrainedRow): Float32Array => {
  const row = new Float32Array(from + logprobs.length).fill(Labels.unsampled, 0, from)
  Labels.writeLogprobs(row, from, logprobs)
  return row
}

/** Encodes as keys of a group's JSON, without braces, to append after other keys. */
export const toJson = ({ policyVersion, rows }: TrainedLogprobs): string => {
  // Single precision has at most nine significant digits.
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

/** Decodes from the JSON of a group of `sequences`; undefined if absent or invalid. */
export const ofJson = (
  { trainer_logprobs: rows, trainer_version: version }: { readonly [key: string]: unknown },
  sequences: number
): TrainedLogprobs | undefined =>
  Array.isArray(rows) && rows.length === sequences
    ? { policyVersion: Number.isInteger(version) ? Number(version) : null, rows: rows.map(toRow) }
    : undefined
