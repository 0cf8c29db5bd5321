/**
 * A scored group on the original's wire: a JSON object of 14 keys (`keys`), snake_case, `null` for absent values.
 *
 * Reading follows the original's server (FastAPI, pydantic in lax mode: `"100"`, `1.0` and `true` are integers; unknown
 * keys are dropped; errors are reported as `{ type, loc, msg, input }`), and additionally rejects what would break a
 * trainer later: NaN, infinite numbers and those beyond float32, token ids below 0 or above 2^31 - 1, a number of
 * masks, scores, logprobs, advantages, overrides or distillation rows other than the number of sequences, and masks or
 * logprobs not as long as their tokens. Empty lists of optional fields are null. Mask values may differ from the token
 * (some send 0 and 1), and `advantages` and `messages` may have any length.
 *
 * A submission is stored as received: `canonicalJson` joins the spans of its values, and rewrites only coerced ones.
 */
import { Predicate, Result } from "effect"
import * as GroupFields from "./wire/GroupFields.ts"
import * as GroupText from "./wire/GroupText.ts"
import * as GroupWriter from "./wire/GroupWriter.ts"
import { type Detail, type Loc, Report } from "./wire/Detail.ts"
import * as Labelled from "./wire/LabelledGroup.ts"
import { parse, tooDeep } from "./wire/JsonBody.ts"
import * as JsonSpans from "./wire/JsonSpans.ts"
import * as PythonJson from "./wire/PythonJson.ts"
import * as Scalars from "./wire/Scalars.ts"
import * as ScanGroup from "./wire/ScanGroup.ts"
import { skipSpace } from "./wire/ScanNumbers.ts"
import { WireError } from "./wire/WireError.ts"
import type { Message } from "../trajectory/Message.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"

export { type Detail, type Loc, parse, WireError }

export const keys = GroupFields.keys

export interface Limits {
  readonly maxSequences: number
  readonly maxTokensPerSequence: number
}

/** A validated group. */
export interface Checked {
  readonly values: GroupFields.GroupValues
  /** Keys with coerced values: their bytes are not stored as received. */
  readonly coerced: ReadonlySet<string>
  /** G */
  readonly sequences: number
  /** Number of tokens over all sequences. */
  readonly tokens: number
}

const tooLong = (loc: Loc, maximum: number, actual: number, report: Report): void =>
  report.add("too_long", loc, `List should have at most ${maximum} items after validation, not ${actual}`, actual, {
    field_type: "List",
    max_length: maximum,
    actual_length: actual
  })

const checkInto = (json: unknown, loc: Loc, report: Report, limits: Limits | undefined): Checked | undefined => {
  if (!Predicate.isReadonlyObject(json)) {
    report.add(
      "model_attributes_type",
      loc,
      "Input should be a valid dictionary or object to extract fields from",
      json
    )
    return undefined
  }
  const before = report.details.length
  const values: { [key: string]: unknown } = {}
  const coerced = new Set<string>()
  for (const key of keys) {
    report.coerced = false
    values[key] = GroupFields.check(key, json, loc, report)
    if (report.coerced) coerced.add(key)
  }
  // Each key was set from its own check.
  const group = values as unknown as GroupFields.GroupValues
  if (report.details.length > before) return undefined
  if (limits !== undefined) {
    if (group.tokens.length > limits.maxSequences) {
      tooLong([...loc, "tokens"], limits.maxSequences, group.tokens.length, report)
    }
    group.tokens.forEach((row, index) => {
      if (row.length > limits.maxTokensPerSequence) {
        tooLong([...loc, "tokens", index], limits.maxTokensPerSequence, row.length, report)
      }
    })
  }
  GroupFields.checkLengths(group, loc, report)
  if (report.details.length > before) return undefined
  const tokens = group.tokens.reduce((sum, row) => sum + row.length, 0)
  return { values: group, coerced, sequences: group.tokens.length, tokens }
}

const failure = (report: Report): WireError => new WireError({ reason: "invalid", details: report.details })

/** Checks a parsed body. `loc` is its location in the request, `["body"]` by default. */
export const check = (
  json: unknown,
  options?: { readonly loc?: Loc; readonly limits?: Limits }
): Result.Result<Checked, WireError> => {
  const report = new Report()
  const checked = checkInto(json, options?.loc ?? ["body"], report, options?.limits)
  return checked === undefined ? Result.fail(failure(report)) : Result.succeed(checked)
}

const int32Rows = (rows: ReadonlyArray<ReadonlyArray<number>>) => rows.map((row) => Int32Array.from(row))
const float32Rows = (rows: ReadonlyArray<ReadonlyArray<number>>) => rows.map((row) => Float32Array.from(row))

export const toScoredGroup = (checked: Checked): ScoredGroup => Labelled.toScoredGroup(toLabelled(checked))

export const toLabelled = ({ values }: Checked): Labelled.LabelledGroup => ({
  tokens: int32Rows(values.tokens),
  masks: int32Rows(values.masks),
  scores: Float64Array.from(values.scores),
  ...(values.advantages && { advantages: float32Rows(values.advantages) }),
  ...(values.ref_logprobs && { refLogprobs: float32Rows(values.ref_logprobs) }),
  ...(values.inference_logprobs && { inferenceLogprobs: float32Rows(values.inference_logprobs) }),
  // Role and content exist (checked); their values are arbitrary, as in the original.
  ...(values.messages && { messages: values.messages as unknown as ReadonlyArray<ReadonlyArray<Message>> }),
  ...(values.generation_params && { generationParams: values.generation_params }),
  ...(values.overrides && { overrides: values.overrides }),
  ...(values.group_overrides && { groupOverrides: values.group_overrides }),
  ...(values.images !== null && { images: values.images }),
  ...(values.env_id !== null && { envId: values.env_id }),
  ...(values.distill_token_ids && { distillTokenIds: values.distill_token_ids.map(int32Rows) }),
  ...(values.distill_logprobs && { distillLogprobs: values.distill_logprobs.map(float32Rows) })
})

export const decode = (json: unknown): Result.Result<ScoredGroup, WireError> => Result.map(check(json), toScoredGroup)

/** Decodes a parsed JSON object to the wire's form. */
export const decodeLabelled = (json: unknown): Result.Result<Labelled.LabelledGroup, WireError> =>
  Result.map(check(json), toLabelled)

/**
 * UTF-8 JSON text of a group, in chunks: all keys in the original's order, null if absent. The group's numbers must be
 * finite; 32-bit ones use the shortest form that reads back unchanged. A chunk takes a few milliseconds at most to
 * write.
 */
export const encodePieces = (group: ScoredGroup): Iterable<Uint8Array> =>
  GroupWriter.pieces(Labelled.ofScoredGroup(group))

/** The chunks of a group that comes from another wire. */
export const encodeLabelledPieces: (group: Labelled.LabelledGroup) => Iterable<Uint8Array> = GroupWriter.pieces

export const encode = (group: ScoredGroup): string => Buffer.concat([...encodePieces(group)]).toString()

/**
 * The bytes to store for the JSON object in `bytes` that `checked` was made from: all keys in order, values as
 * received.
 */
export const canonicalJson = (bytes: Uint8Array, checked: Checked): Result.Result<Uint8Array, WireError> => {
  const json = GroupText.canonical(bytes, checked.values, checked.coerced)
  return json === undefined ? Result.fail(tooDeep) : Result.succeed(json)
}

/** A received group, ready to store. */
export interface Received {
  /** The 14 keys in order, in UTF-8. */
  readonly json: Uint8Array
  /** G */
  readonly sequences: number
  /** Number of tokens over all sequences. */
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  readonly envId: number | null
  /** True if it has chats. */
  readonly hasMessages: boolean
}

/** Bare NaN and Infinity are reported in keys of the wire; in a private key, which is dropped, they are harmless. */
const refuseNotFinite = (json: unknown, loc: Loc, report: Report): void => {
  if (!Predicate.isReadonlyObject(json)) return
  for (const key of keys) {
    for (const found of PythonJson.notFiniteIn(json[key], [...loc, key])) {
      report.add("finite_number", found.loc, "Input should be a finite number", found.word)
    }
  }
}

const receive = (
  json: unknown,
  notFinite: boolean,
  loc: Loc,
  report: Report,
  limits: Limits | undefined
): Checked | undefined => {
  const before = report.details.length
  if (notFinite) refuseNotFinite(json, loc, report)
  return report.details.length > before ? undefined : checkInto(json, loc, report, limits)
}

const withBytes = (checked: Checked, bytes: Uint8Array): Result.Result<Received, WireError> =>
  Result.map(canonicalJson(bytes, checked), (json) => ({
    json,
    sequences: checked.sequences,
    tokens: checked.tokens,
    scores: checked.values.scores,
    envId: checked.values.env_id,
    hasMessages: (checked.values.messages?.length ?? 0) > 0
  }))

const isWithin = ({ lengths }: ScanGroup.Scanned, limits: Limits | undefined): boolean =>
  limits === undefined ||
  (lengths.length <= limits.maxSequences && lengths.every((length) => length <= limits.maxTokensPerSequence))

const fromScan = (bytes: Uint8Array, { envId, hasMessages, lengths, scores, spans }: ScanGroup.Scanned): Received => ({
  json: GroupText.join(bytes, spans),
  sequences: lengths.length,
  tokens: lengths.reduce((sum, length) => sum + length, 0),
  scores,
  envId,
  hasMessages
})

/** Reads the body of a submission of one group. */
export const read = (body: Uint8Array, limits?: Limits): Result.Result<Received, WireError> => {
  const scanned = ScanGroup.scan(body, skipSpace(body, 0))
  if (scanned !== undefined && skipSpace(body, scanned.end) === body.length && isWithin(scanned, limits)) {
    return Result.succeed(fromScan(body, scanned))
  }
  return Result.flatMap(parse(body), ({ bytes, notFinite, value }) => {
    const report = new Report()
    const checked = receive(value, notFinite, ["body"], report, limits)
    return checked === undefined ? Result.fail(failure(report)) : withBytes(checked, bytes)
  })
}

type ListLimits = Limits & { readonly maxGroups: number }

/** The groups of an array, if all can be read the fast way. */
const scanList = (body: Uint8Array, limits: ListLimits | undefined): ReadonlyArray<Received> | undefined => {
  const found: Array<Received> = []
  let at = skipSpace(body, 0)
  if (body[at] !== openBracket) return undefined
  do {
    const scanned = ScanGroup.scan(body, skipSpace(body, at + 1))
    if (scanned === undefined || !isWithin(scanned, limits) || found.length === limits?.maxGroups) return undefined
    found.push(fromScan(body, scanned))
    at = skipSpace(body, scanned.end)
  } while (body[at] === comma)
  return body[at] === closeBracket && skipSpace(body, at + 1) === body.length ? found : undefined
}

const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d

/** Reads the body of a submission of several groups, a JSON array: all are valid or the whole fails. */
export const readList = (body: Uint8Array, limits?: ListLimits): Result.Result<ReadonlyArray<Received>, WireError> => {
  const scanned = scanList(body, limits)
  if (scanned !== undefined) return Result.succeed(scanned)
  return Result.flatMap(parse(body), ({ bytes, notFinite, value }) => {
    const report = new Report()
    const list = Scalars.list(value, ["body"], report)
    if (limits !== undefined && list.length > limits.maxGroups) {
      tooLong(["body"], limits.maxGroups, list.length, report)
      return Result.fail(failure(report))
    }
    const checked = list.map((element, index) => receive(element, notFinite, ["body", index], report, limits))
    if (report.details.length > 0) return Result.fail(failure(report))
    const spans = JsonSpans.elements(bytes)
    if (spans === undefined) return Result.fail(tooDeep)
    // No details: every element is valid.
    return Result.all(
      checked.map((one, index) => withBytes(one!, bytes.subarray(spans[index]!.start, spans[index]!.end)))
    )
  })
}
