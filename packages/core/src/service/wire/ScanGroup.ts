/**
 * The fast path for reading a submitted group: one pass over its bytes, with matrices of numbers checked in place
 * (`ScanNumbers`) and only small and free-form values parsed. It accepts only valid, canonical groups, which are nearly
 * all traffic; for anything else (an error, a coercion, a repeated key) it gives up, and the slow path through
 * `JSON.parse` decides.
 */
import { Result } from "effect"
import { Report } from "./Detail.ts"
import * as GroupFields from "./GroupFields.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import { type Span, skipValue } from "./JsonSpans.ts"
import * as Matrix from "./Matrix.ts"
import * as Scalars from "./Scalars.ts"
import * as ScanNumbers from "./ScanNumbers.ts"

export interface Scanned {
  readonly end: number
  /** Spans of the values of the wire's keys. */
  readonly spans: ReadonlyMap<string, Span>
  /** T_i */
  readonly lengths: ReadonlyArray<number>
  readonly scores: ReadonlyArray<number>
  readonly envId: number | null
  /** True if it has chats. */
  readonly hasMessages: boolean
}

const decoder = new TextDecoder("utf-8", { fatal: true })

const parse = (bytes: Uint8Array, { end, start }: Span): Result.Result<unknown, unknown> =>
  Result.try((): unknown => JSON.parse(decoder.decode(bytes.subarray(start, end))))

const matrices: { readonly [key: string]: ScanNumbers.Kind } = {
  tokens: Scalars.tokenId,
  masks: Scalars.int32,
  advantages: "finite",
  ref_logprobs: "finite",
  inference_logprobs: "finite"
}

const isKey = (key: unknown): key is GroupFields.Key => (GroupFields.keys as ReadonlyArray<unknown>).includes(key)

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b

/** The group that starts at `from`, or undefined if this path gives up. */
export const scan = (bytes: Uint8Array, from: number): Scanned | undefined => {
  if (bytes[from] !== openBrace) return undefined
  const spans = new Map<string, Span>()
  const rows: { [key: string]: Array<number> } = {}
  const counts: { [key: string]: number } = {}
  let scores: ReadonlyArray<number> = []
  let envId: number | null = null
  const report = new Report()
  let at = ScanNumbers.skipSpace(bytes, from + 1)
  while (bytes[at] === quote) {
    const keyEnd = Nesting.skipString(bytes, at)
    const key = Result.getOrUndefined(parse(bytes, { start: at, end: keyEnd }))
    at = ScanNumbers.skipSpace(bytes, keyEnd)
    if (typeof key !== "string" || spans.has(key) || bytes[at] !== colon) return undefined
    const start = ScanNumbers.skipSpace(bytes, at + 1)
    const kind = Object.hasOwn(matrices, key) ? matrices[key] : undefined
    let end: number
    if (kind !== undefined && bytes[start] === openBracket) {
      const lengths: Array<number> = []
      end = ScanNumbers.matrix(bytes, start, kind, lengths)
      rows[key] = lengths
    } else {
      end = skipValue(bytes, start)
    }
    if (end < 0) return undefined
    const span = { start, end }
    if (rows[key] === undefined) {
      const parsed = parse(bytes, span)
      if (Result.isFailure(parsed)) return undefined
      if (isKey(key)) {
        const value = GroupFields.check(key, { [key]: parsed.success }, [], report)
        // Parsing loses a fraction: a teacher's token ids take the slow path if there may be one.
        if (report.details.length > 0 || report.coerced || (key === "distill_token_ids" && value !== null)) {
          return undefined
        }
        if (key === "scores") scores = value as Matrix.Row
        if (key === "env_id") envId = value as number | null
        if (Array.isArray(value)) counts[key] = value.length
      }
    } else {
      counts[key] = rows[key].length
    }
    spans.set(key, span)
    at = ScanNumbers.skipSpace(bytes, end)
    if (bytes[at] !== comma) break
    at = ScanNumbers.skipSpace(bytes, at + 1)
    if (bytes[at] !== quote) return undefined
  }
  const lengths = rows["tokens"]
  if (bytes[at] !== closeBrace || lengths === undefined || rows["masks"] === undefined || !spans.has("scores")) {
    return undefined
  }
  const counted = GroupFields.perSequence.every((key) => counts[key] === undefined || counts[key] === lengths.length)
  const aligned = GroupFields.perToken.every((key) => rows[key]?.every((length, i) => length === lengths[i]) ?? true)
  // Without sequences, an empty list of another field is absent, which the slow path decides.
  return counted && aligned && lengths.length > 0
    ? { end: at + 1, spans, lengths, scores, envId, hasMessages: (counts["messages"] ?? 0) > 0 }
    : undefined
}
