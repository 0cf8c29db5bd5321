/**
 * Encodes what a trainer computed for a batch: its logprobs of the sequences' tokens.
 *
 * Layout, all little-endian; every part starts at a multiple of 8 bytes:
 *
 *     "ATPT" | version u32 = 1 | bytes of head u32 | number of floats u32      16 bytes
 *     head     JSON: { lease_token, policy_version, rows: [[group, sequence, from, count], …] }
 *     floats   f32: the concatenated logprobs of the rows; NaN where a token was not trained on
 *
 * `group` is the index of a group in the batch as claimed, `sequence` that of a sequence in its group, both from 0;
 * `from` is the first of the `count` tokens with logprobs.
 */
import { Result, Schema } from "effect"
import type { TrainedRow } from "./TrainedLogprobs.ts"
import { failed, PackedGroupError, preludeBytes, readPrelude, writePrelude } from "./wire/PackedFrame.ts"
import * as JsonSpans from "./wire/JsonSpans.ts"
import * as Sections from "./wire/Sections.ts"

/** Logprobs of one sequence of a batch. */
export interface RecordedRow extends TrainedRow {
  /** Index of its group in the batch, and of the sequence in the group, from 0. */
  readonly group: number
  readonly sequence: number
}

export interface RecordedLogprobs {
  /** The token of the claim that handed the batch out: proves that the record is from its trainer. */
  readonly leaseToken: string
  /** Version of the weights that computed them. */
  readonly policyVersion: number
  readonly rows: ReadonlyArray<RecordedRow>
}

const magic = 0x54505441 // "ATPT"

/** Larger records are not of a step, and are rejected. */
const maxRows = 65_536
const maxTokens = 100_000_000

const place = Schema.Natural.check(Schema.isLessThanOrEqualTo(0x7fff_ffff))
const length = Schema.Natural.check(Schema.isLessThanOrEqualTo(maxTokens))
const Head = Schema.Struct({
  lease_token: Schema.NonEmptyString.check(Schema.isMaxLength(256)),
  policy_version: Schema.Natural,
  rows: Schema.Array(Schema.Tuple([place, place, length, length])).check(Schema.isMaxLength(maxRows))
})
const decodeHead = Schema.decodeUnknownResult(Schema.fromJsonString(Head))

export const bytesOf = (logprobs: Float32Array): Uint8Array => {
  const bytes = new Uint8Array(logprobs.byteLength)
  Sections.write(logprobs, bytes, 0)
  return bytes
}

export const floatsOf = (bytes: Uint8Array): Float32Array =>
  // The type was requested.
  Sections.read("f32", bytes, 0, Math.floor(bytes.length / Sections.width.f32)) as Float32Array

export const encode = ({ leaseToken, policyVersion, rows }: RecordedLogprobs): Uint8Array => {
  const head = new TextEncoder().encode(
    JSON.stringify({
      lease_token: leaseToken,
      policy_version: policyVersion,
      rows: rows.map(({ from, group, logprobs, sequence }) => [group, sequence, from, logprobs.length])
    } satisfies typeof Head.Type)
  )
  const count = rows.reduce((sum, { logprobs }) => sum + logprobs.length, 0)
  const start = Sections.align(preludeBytes + head.length)
  const bytes = new Uint8Array(start + count * Sections.width.f32)
  writePrelude(bytes, magic, head.length, count)
  bytes.set(head, preludeBytes)
  let at = start
  for (const { logprobs } of rows) {
    Sections.write(logprobs, bytes, at)
    at += logprobs.byteLength
  }
  return bytes
}

/** Checks that all are logprobs: numbers up to 0, within rounding, or NaN. */
const areLogprobs = (numbers: Float32Array): boolean => {
  for (const number of numbers) if (number > 0.5 || number === Number.NEGATIVE_INFINITY) return false
  return true
}

/** Decodes an untrusted record. Its arrays may be views of the bytes. */
export const decode = (bytes: Uint8Array): Result.Result<RecordedLogprobs, PackedGroupError> =>
  Result.gen(function* () {
    const { first: headLength, second: count } = yield* readPrelude(bytes, magic, "a record of logprobs")
    const start = Sections.align(preludeBytes + headLength)
    if (start + count * Sections.width.f32 > bytes.length) {
      return yield* failed("prelude", `head and floats need more than ${bytes.length} bytes`)
    }
    const headBytes = bytes.subarray(preludeBytes, preludeBytes + headLength)
    if (JsonSpans.isTooDeep(headBytes)) return yield* failed("head", "is nested too deeply")
    const head = yield* Result.mapError(
      decodeHead(new TextDecoder().decode(headBytes)),
      (error) => new PackedGroupError({ field: "head", message: error.message })
    )
    const floats = floatsOf(bytes.subarray(start, start + count * Sections.width.f32))
    if (!areLogprobs(floats)) return yield* failed("floats", "logprobs must be at most 0, or NaN")
    const rows: Array<RecordedRow> = []
    let at = 0
    for (const [group, sequence, from, length] of head.rows) {
      rows.push({ group, sequence, from, logprobs: floats.subarray(at, at + length) })
      at += length
    }
    if (at !== count) return yield* failed("head", `rows have ${at} floats in total, but the prelude states ${count}`)
    if (new Set(rows.map(({ group, sequence }) => `${group} ${sequence}`)).size !== rows.length) {
      return yield* failed("head", "duplicate sequence")
    }
    return { leaseToken: head.lease_token, policyVersion: head.policy_version, rows }
  })
