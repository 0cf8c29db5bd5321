/**
 * The 14 keys of a scored group on the original's wire, in its order, each with its check; and the checks between them.
 */
import { Predicate } from "effect"
import type { Loc, Report } from "./Detail.ts"
import * as Matrix from "./Matrix.ts"
import * as Scalars from "./Scalars.ts"

export const keys = [
  "tokens",
  "masks",
  "scores",
  "advantages",
  "ref_logprobs",
  "messages",
  "generation_params",
  "inference_logprobs",
  "overrides",
  "group_overrides",
  "images",
  "env_id",
  "distill_token_ids",
  "distill_logprobs"
] as const
export type Key = (typeof keys)[number]

type JsonObject = { readonly [key: string]: unknown }

/** A group's checked values: matrices of numbers, free-form values as received; null if absent. */
export interface GroupValues {
  readonly tokens: ReadonlyArray<Matrix.Row>
  readonly masks: ReadonlyArray<Matrix.Row>
  readonly scores: Matrix.Row
  readonly advantages: ReadonlyArray<Matrix.Row> | null
  readonly ref_logprobs: ReadonlyArray<Matrix.Row> | null
  readonly messages: ReadonlyArray<ReadonlyArray<JsonObject>> | null
  readonly generation_params: JsonObject | null
  readonly inference_logprobs: ReadonlyArray<Matrix.Row> | null
  readonly overrides: ReadonlyArray<JsonObject> | null
  readonly group_overrides: JsonObject | null
  readonly images: unknown
  readonly env_id: number | null
  readonly distill_token_ids: ReadonlyArray<ReadonlyArray<Matrix.Row>> | null
  readonly distill_logprobs: ReadonlyArray<ReadonlyArray<Matrix.Row>> | null
}

type Check<A> = (value: unknown, loc: Loc, report: Report) => A

const orNull =
  <A>(check: Check<A>): Check<A | null> =>
  (value, loc, report) =>
    value === null || value === undefined ? null : check(value, loc, report)

/** For lists with one entry per sequence: an empty one is absent, as clients send it for a field they do not fill. */
const orNone =
  <A>(check: Check<A>): Check<A | null> =>
  (value, loc, report) => {
    if (!Array.isArray(value) || value.length > 0) return orNull(check)(value, loc, report)
    report.coerced = true
    return null
  }

const messageList = Matrix.listOf(Matrix.listOf(Scalars.record))

/** Python's `key in message` for any message; undefined where Python raises. */
const has = (message: unknown, key: string): boolean | undefined => {
  if (typeof message === "string") return message.includes(key)
  if (Array.isArray(message)) return message.includes(key)
  return Predicate.isReadonlyObject(message) ? Object.hasOwn(message, key) : undefined
}

const iterate = (value: unknown): ReadonlyArray<unknown> => {
  if (typeof value === "string") return Array.from(value)
  if (Array.isArray(value)) return value
  return Predicate.isReadonlyObject(value) ? Object.keys(value) : []
}

/**
 * First checks that every message has a role and a content, as the original's validator does for anything iterable;
 * then the types.
 */
const messages: Check<ReadonlyArray<ReadonlyArray<JsonObject>>> = (value, loc, report) => {
  for (const chat of iterate(value)) {
    for (const message of iterate(chat)) {
      const hasRole = has(message, "role")
      if (hasRole === false || (hasRole === true && has(message, "content") === false)) {
        report.add("value_error", loc, "Value error, Message must have 'role' and 'content' fields", value, {
          error: {}
        })
        return []
      }
    }
  }
  return messageList(value, loc, report)
}

const numberRows = orNone(Matrix.listOf(Matrix.numberRow))
const envId: Check<number> = (value, loc, report) => Scalars.int(value, anyInteger, loc, report)
/** Ids of unknown environments are accepted, so a huge one is valid. */
const anyInteger: Scalars.Range = Scalars.float64

const checks: { readonly [K in Key]: Check<GroupValues[K]> } = {
  tokens: Matrix.listOf(Matrix.tokenRow),
  masks: Matrix.listOf(Matrix.maskRow),
  scores: Matrix.numberRow,
  advantages: numberRows,
  ref_logprobs: numberRows,
  messages: orNull(messages),
  generation_params: orNull(Scalars.record),
  inference_logprobs: numberRows,
  overrides: orNone(Matrix.listOf(Scalars.record)),
  group_overrides: orNull(Scalars.record),
  images: (value) => value ?? null,
  env_id: orNull(envId),
  distill_token_ids: orNone(Matrix.listOf(Matrix.listOf(Matrix.tokenRow))),
  distill_logprobs: orNone(Matrix.listOf(Matrix.listOf(Matrix.numberRow)))
}

const required: ReadonlySet<Key> = new Set<Key>(["tokens", "masks", "scores"])

/** The field's value; errors go to the report. */
export const check = <K extends Key>(key: K, source: JsonObject, loc: Loc, report: Report): GroupValues[K] => {
  const value = Object.hasOwn(source, key) ? source[key] : undefined
  if (value === undefined && required.has(key)) {
    report.missing([...loc, key], source)
    // Unused: a report with details ends the check.
    return [] as unknown as GroupValues[K]
  }
  return checks[key](value, [...loc, key], report)
}

/** Fields with one entry per sequence. */
export const perSequence = [
  "masks",
  "scores",
  "advantages",
  "ref_logprobs",
  "inference_logprobs",
  "overrides",
  "distill_token_ids",
  "distill_logprobs"
] as const satisfies ReadonlyArray<Key>
/** Fields with one number per token. `advantages` may differ, as in the original's own tests. */
export const perToken = ["masks", "ref_logprobs", "inference_logprobs"] as const satisfies ReadonlyArray<Key>

export const checkLengths = (values: GroupValues, loc: Loc, report: Report): void => {
  const { tokens } = values
  for (const key of perSequence) {
    const rows = values[key]
    if (rows !== null && rows.length !== tokens.length) {
      report.add(
        "length_mismatch",
        [...loc, key],
        `Should have one entry per sequence of tokens, ${tokens.length}, not ${rows.length}`,
        rows.length
      )
    }
  }
  for (const key of perToken) {
    const rows = values[key]
    if (rows === null || rows.length !== tokens.length) continue
    rows.forEach((row, index) => {
      const length = tokens[index]!.length
      if (row.length !== length) {
        report.add(
          "length_mismatch",
          [...loc, key, index],
          `Should have one entry per token, ${length}, not ${row.length}`,
          row.length
        )
      }
    })
  }
}
