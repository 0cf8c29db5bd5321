/**
 * Reads configured columns of a data set, such as the prompt's and the answer's.
 *
 * A column is named as in the rows, or by a path into it (`answers.text.0`). A missing one is an error that names the
 * setting, the column and the existing columns; a value of the wrong type is reported with row and column. Only the
 * requested columns are kept in memory.
 */
import { Effect, Option, Result, Schema, Stream } from "effect"
import { Dataset, DatasetError } from "./Dataset.ts"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as Message from "../trajectory/Message.ts"
import * as RowChat from "./RowChat.ts"

/** The required type of a column's values. */
export interface Kind<out A> {
  readonly expected: string
  /** Undefined if the value has another type. */
  readonly read: (value: unknown) => A | undefined
}

/** The text of a number as written; any other value unchanged. */
export const asWritten = (value: unknown): unknown =>
  typeof value === "number" || typeof value === "bigint" || value instanceof ExactJson.Numeral ? String(value) : value

/** A non-blank text; a number is read as its written text. */
export const text: Kind<string> = {
  expected: "a text",
  read: (value) => {
    const written = asWritten(value)
    return typeof written === "string" && written.trim() !== "" ? written : undefined
  }
}

/** A list of texts; a text that contains a JSON list is one too (CSV has no lists). */
export const texts: Kind<ReadonlyArray<string>> = {
  expected: "a list of texts",
  read: (value) => {
    const list =
      typeof value === "string" ? Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(value))) : value
    if (!Array.isArray(list) || list.length === 0) return undefined
    const read = list.map(text.read)
    return read.every((one) => one !== undefined) ? read : undefined
  }
}

/** A reference answer: a text, or a list of texts (OlympiadBench), which is its only text or is read as JSON. */
export const answer: Kind<string> = {
  expected: "a text, or a list of texts",
  read: (value) => text.read(value) ?? (Array.isArray(value) ? asJson(texts.read(value)) : undefined)
}

const asJson = (list: ReadonlyArray<string> | undefined): string | undefined =>
  list?.length === 1 ? list[0] : list && JSON.stringify(list)

/**
 * Bytes of a file: as they are, in the `bytes` of a struct (as the `datasets` library writes images), as base64 or as a
 * data URL.
 */
export const bytes: Kind<Uint8Array> = {
  expected: "bytes, a struct with bytes, base64 or a data URL",
  read: (value) => {
    if (value instanceof Uint8Array) return value.length > 0 ? value : undefined
    if (typeof value === "object" && value !== null && "bytes" in value) return bytes.read(value.bytes)
    if (typeof value !== "string") return undefined
    const encoded = value.startsWith("data:") ? value.slice(value.indexOf(",") + 1) : value
    // Node skips invalid base64, and would decode any text.
    return /^[A-Za-z0-9+/\s]+(?:={1,2}\s*)?$/.test(encoded) ? Buffer.from(encoded, "base64") : undefined
  }
}

const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Lists may be JSON texts, as in CSV. */
export const listOf = (value: unknown): unknown =>
  typeof value === "string" ? Option.getOrElse(parseJson(value), () => value) : value

/** A list of messages, which may be its JSON text, as in CSV. */
export const messages: Kind<ReadonlyArray<Message.Message>> = {
  expected: "a list of messages, each with role and content",
  read: (value) => RowChat.read(listOf(value))
}

/** A chat: a list of messages, or a text, which is the user's. */
export const chat: Kind<ReadonlyArray<Message.Message>> = {
  expected: "a text, or a list of messages with role and content",
  read: (value) => {
    const written = text.read(value)
    return written === undefined ? RowChat.read(value) : [Message.user(written)]
  }
}

/** Any value; integers beyond the range of `number` are `bigint`, and other numbers beyond it are text. */
export const anything: Kind<NonNullable<unknown>> = {
  expected: "a value",
  read: (value) => ExactJson.plainOrText(value) ?? undefined
}

/** Any value, with numbers as written (`ExactJson.Numeral`). */
export const written: Kind<NonNullable<unknown>> = { expected: "a value", read: (value) => value ?? undefined }

/** An optional value: null if absent. */
export const optional = <A>({ expected, read }: Kind<A>): Kind<A | null> => ({
  expected: `${expected}, or nothing`,
  read: (value) => (value === undefined || value === null ? null : read(value))
})

export interface Column<A> {
  /** Name of the setting that selects the column, for messages. */
  readonly setting: string
  readonly column: string
  readonly kind: Kind<A>
}

/** Columns by the names used in code. */
export type Columns = { readonly [name: string]: Column<unknown> }

/** The values of a row's columns. */
export type Picked<Wanted extends Columns> = {
  readonly [Name in keyof Wanted]: Wanted[Name] extends Column<infer A> ? A : never
}

export const Row = Schema.Record(Schema.String, Schema.Unknown)

/** Evidence in a row that all rows of its source are misread, including readable ones. */
export class Misread {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/**
 * Applies `make` to the requested columns of each row of a source, in order. If the first row's columns do not match,
 * it is an error: the names are wrong. Other mismatching rows (for example with a blank answer), or rows for which
 * `make` returns a reason, are skipped, counted, and reported once; if none is left, that is an error too, and so is a
 * `Misread` row.
 */
export const rowsAs = Effect.fn("Columns.rowsAs")(function* <const Wanted extends Columns, A>(
  source: string,
  requested: Wanted,
  make: (picked: Picked<Wanted>) => Result.Result<A, string | Misread>
) {
  const dataset = yield* Dataset
  let read = 0
  let leftOut = 0
  let first: DatasetError | undefined
  const leaveOut = (error: DatasetError): ReadonlyArray<A> => {
    leftOut++
    first ??= error
    return []
  }
  const made = yield* dataset.stream(source, Row, { asWritten: true }).pipe(
    Stream.mapArrayEffect(
      Effect.forEach((row) => {
        read++
        const picked = pick(source, row, read, requested)
        if (Result.isFailure(picked)) {
          return read === 1 ? Effect.fail(picked.failure) : Effect.succeed(leaveOut(picked.failure))
        }
        const made = make(picked.success)
        if (Result.isSuccess(made)) return Effect.succeed<ReadonlyArray<A>>([made.success])
        const isMisread = made.failure instanceof Misread
        const problem = made.failure instanceof Misread ? made.failure.reason : made.failure
        const error = new DatasetError({ source, row: read, message: `${source}, row ${read}: ${problem}` })
        return isMisread ? Effect.fail(error) : Effect.succeed(leaveOut(error))
      })
    ),
    Stream.flattenIterable,
    Stream.runCollect
  )
  if (made.length === 0) return yield* first ?? new DatasetError({ source, message: `${source} has no rows` })
  if (first !== undefined)
    yield* Effect.logWarning("skipped rows", { source, rows: leftOut, of: read, first: first.message })
  return made
})

export const rows = <const Wanted extends Columns>(
  source: string,
  requested: Wanted
): Effect.Effect<ReadonlyArray<Picked<Wanted>>, DatasetError, Dataset> => rowsAs(source, requested, Result.succeed)

const pick = <Wanted extends Columns>(
  source: string,
  row: typeof Row.Type,
  number: number,
  requested: Wanted
): Result.Result<Picked<Wanted>, DatasetError> => {
  const picked: Array<readonly [string, unknown]> = []
  for (const [name, { column, kind, setting }] of Object.entries(requested)) {
    const value = at(row, column)
    const read = kind.read(value)
    if (read === undefined) {
      const where = `${source}, row ${number}`
      const problem =
        value === undefined
          ? `unknown column ${JSON.stringify(column)} (${setting}); the columns are ${Object.keys(row).join(", ")}`
          : `the column ${JSON.stringify(column)} (${setting}) must be ${kind.expected}, got ${formatValue(value)}`
      return Result.fail(new DatasetError({ source, row: number, field: column, message: `${where}: ${problem}` }))
    }
    picked.push([name, read])
  }
  // Every requested name was read as its column's type.
  return Result.succeed(Object.fromEntries(picked) as Picked<Wanted>)
}

/** The value of a column, or of a path into one; undefined if absent. */
export const at = (row: typeof Row.Type, column: string): unknown =>
  Object.hasOwn(row, column)
    ? row[column]
    : column
        .split(".")
        .reduce<unknown>(
          (value, key) =>
            typeof value === "object" && value !== null && Object.hasOwn(value, key)
              ? (value as Record<string, unknown>)[key]
              : undefined,
          row
        )

const formatValue = (value: unknown): string => {
  const written = ExactJson.write(value) ?? String(value)
  return written.length > 60 ? `${written.slice(0, 60)}…` : written
}
