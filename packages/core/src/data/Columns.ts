/**
 * Columns of a data set chosen by configuration: which one is the prompt, which one the answer.
 *
 * A column is named as the rows have it, or by a path into it (`answers.text.0`). One that is not there is an error
 * that names the setting, the column and the columns there are; a value of the wrong kind says which row and column. Of
 * the rows only what is asked for is kept in memory.
 */
import { Effect, Option, Result, Schema, Stream } from "effect"
import { Dataset, DatasetError } from "./Dataset.ts"
import * as ExactJson from "../base/ExactJson.ts"
import * as Message from "../Message.ts"

/** What the values of a column have to be. */
export interface Kind<out A> {
  readonly expected: string
  /** Undefined where the value is of another kind. */
  readonly read: (value: unknown) => A | undefined
}

/** The text of a number as it is written; any other value as it is. */
export const asWritten = (value: unknown): unknown =>
  typeof value === "number" || typeof value === "bigint" || value instanceof ExactJson.Numeral ? String(value) : value

/** A text that is not blank; a number counts as what it is written as. */
export const text: Kind<string> = {
  expected: "a text",
  read: (value) => {
    const written = asWritten(value)
    return typeof written === "string" && written.trim() !== "" ? written : undefined
  }
}

/** Texts in a list; a text that holds a JSON list is one too (CSV has no lists). */
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
    // Node skips what is no base64: it would make bytes of any text.
    return /^[A-Za-z0-9+/\s]+(?:={1,2}\s*)?$/.test(encoded) ? Buffer.from(encoded, "base64") : undefined
  }
}

const decodeMessages = Schema.decodeUnknownOption(Schema.NonEmptyArray(Message.Message))

/** A chat: a list of messages, or a text, which is the user's. */
export const chat: Kind<ReadonlyArray<Message.Message>> = {
  expected: "a text, or a list of messages with role and content",
  read: (value) => {
    const written = text.read(value)
    return written === undefined ? Option.getOrUndefined(decodeMessages(value)) : [Message.user(written)]
  }
}

/** Whatever is there; integers that no `number` holds are of the type `bigint`. */
export const anything: Kind<NonNullable<unknown>> = {
  expected: "a value",
  read: (value) => ExactJson.plain(value) ?? undefined
}

/** The same, with numbers as they are written (`ExactJson.Numeral`). */
export const written: Kind<NonNullable<unknown>> = { expected: "a value", read: (value) => value ?? undefined }

/** A value that need not be there: null where it is not. */
export const optional = <A>({ expected, read }: Kind<A>): Kind<A | null> => ({
  expected: `${expected}, or nothing`,
  read: (value) => (value === undefined || value === null ? null : read(value))
})

export interface Column<A> {
  /** Name of the setting that names the column, for messages. */
  readonly setting: string
  readonly column: string
  readonly kind: Kind<A>
}

/** Columns by the names they are asked for under. */
export type Columns = { readonly [name: string]: Column<unknown> }

/** What the columns of a row give. */
export type Picked<Wanted extends Columns> = {
  readonly [Name in keyof Wanted]: Wanted[Name] extends Column<infer A> ? A : never
}

/** A row as it is. */
export const Row = Schema.Record(Schema.String, Schema.Unknown)

/** Why a row shows that all rows of its source are read wrongly, those too that could be read. */
export class Misread {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/**
 * What `make` makes of the wanted columns of each row of a source, in order. A first row whose columns do not fit is an
 * error: they are named wrongly. Other rows that do not fit (a blank answer, say), or of which `make` says why it
 * cannot, are left out, counted, and told once; if none is left, that is an error too, and so is a row that is
 * `Misread`.
 */
export const rowsAs = Effect.fn("Columns.rowsAs")(function* <const Wanted extends Columns, A>(
  source: string,
  wanted: Wanted,
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
        const picked = pick(source, row, read, wanted)
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
    yield* Effect.logWarning("rows left out", { source, rows: leftOut, of: read, first: first.message })
  return made
})

/** The wanted columns themselves. */
export const rows = <const Wanted extends Columns>(
  source: string,
  wanted: Wanted
): Effect.Effect<ReadonlyArray<Picked<Wanted>>, DatasetError, Dataset> => rowsAs(source, wanted, Result.succeed)

const pick = <Wanted extends Columns>(
  source: string,
  row: typeof Row.Type,
  number: number,
  wanted: Wanted
): Result.Result<Picked<Wanted>, DatasetError> => {
  const picked: Array<readonly [string, unknown]> = []
  for (const [name, { column, kind, setting }] of Object.entries(wanted)) {
    const value = at(row, column)
    const read = kind.read(value)
    if (read === undefined) {
      const where = `${source}, row ${number}`
      const problem =
        value === undefined
          ? `there is no column ${JSON.stringify(column)} (${setting}); there are ${Object.keys(row).join(", ")}`
          : `the column ${JSON.stringify(column)} (${setting}) must be ${kind.expected} and is ${shown(value)}`
      return Result.fail(new DatasetError({ source, row: number, field: column, message: `${where}: ${problem}` }))
    }
    picked.push([name, read])
  }
  // Every wanted name was read as its column says.
  return Result.succeed(Object.fromEntries(picked) as Picked<Wanted>)
}

/** The value of a column, or of a path into one; undefined where there is none. */
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

const shown = (value: unknown): string => {
  const written = ExactJson.write(value) ?? String(value)
  return written.length > 60 ? `${written.slice(0, 60)}…` : written
}
