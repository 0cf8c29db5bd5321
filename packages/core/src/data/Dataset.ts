/**
 * Reads rows for environments: from the Hugging Face hub, from local files, or from memory in tests.
 *
 * A source is a string: `owner/name/[config/]split` on the hub (`openai/gsm8k/main/train`), or a path to a `.parquet`,
 * `.jsonl`, `.json`, `.csv` or `.tsv` file (`./rows.jsonl`; text also as `.gz`) or to a folder of them (`RowFolder`).
 * Rows are decoded by a Schema; errors name file, line (or row) and field. Downloads from the hub are kept on disk
 * (`HF_HOME`, else `.atropos`); `HF_TOKEN` gives access to gated sets, `HF_ENDPOINT` selects another hub.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, FileSystem, Layer, Option, Path, Schema, SchemaIssue, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { createHash } from "node:crypto"
import * as ContentId from "../base/ContentId.ts"
import { DatasetError } from "./DatasetError.ts"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as LocalPath from "../base/system/LocalPath.ts"
import * as HubDataset from "./HubDataset.ts"
import * as RowFolder from "./RowFolder.ts"
import * as RowFiles from "./RowFiles.ts"

/**
 * A seeded order of 0..count-1: Fisher-Yates with mulberry32, so that the same numbers give the same order on every
 * machine and in every version. Seed and epoch are mixed: neighbouring ones give unrelated orders.
 */
const permutation = (count: number, seed: number, epoch: number): Uint32Array => {
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  const random = mulberry32(mix(mix(seed) ^ epoch))
  for (let last = count - 1; last > 0; last--) {
    const selected = Math.floor(random() * (last + 1))
    const moved = order[last]!
    order[last] = order[selected]!
    order[selected] = moved
  }
  return order
}

/** The finaliser of MurmurHash3 over the low 32 bits, offset from zero by the golden ratio. */
const mix = (value: number): number => {
  let hash = (value + 0x9e3779b9) | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

const mulberry32 = (state: number) => (): number => {
  state = (state + 0x6d2b79f5) | 0
  let word = Math.imul(state ^ (state >>> 15), state | 1)
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
  return ((word ^ (word >>> 14)) >>> 0) / 4294967296
}

export { exists } from "./RowFolder.ts"
export { DatasetError } from "./DatasetError.ts"

/** Stream and list of the rows of a source; `row` is compiled once per call. */
export interface DatasetShape {
  /**
   * The rows in order, decoded as they are read. Integers beyond the range of `number` are `bigint`; Parquet decimals
   * with more digits than it holds, and other numbers beyond its range (`1e400`), are text; with `asWritten`, a number
   * that a `number` would round or write differently is an `ExactJson.Numeral`.
   */
  readonly stream: <A, I, RD>(
    source: string,
    row: Schema.Codec<A, I, RD, unknown>,
    options?: { readonly asWritten?: boolean }
  ) => Stream.Stream<A, DatasetError, RD>
  /** All rows of a source, decoded. The first call reads (and caches downloads on disk). */
  readonly rows: <A, I, RD>(
    source: string,
    row: Schema.Codec<A, I, RD, unknown>
  ) => Effect.Effect<ReadonlyArray<A>, DatasetError, RD>
}

export class Dataset extends Context.Service<Dataset, DatasetShape>()("@atropos/core/Dataset") {}

export const layerNoDeps: Layer.Layer<Dataset, never, FileSystem.FileSystem | Path.Path | HttpClient.HttpClient> =
  Layer.effect(
    Dataset,
    Effect.gen(function* () {
      const context = yield* Effect.context<FileSystem.FileSystem | Path.Path | HttpClient.HttpClient>()
      return fromRows((source) =>
        Option.match(LocalPath.of(source), {
          onSome: (path) => Stream.unwrap(Effect.map(RowFolder.files(source, path), (files) => ofFiles(source, files))),
          onNone: () =>
            Stream.unwrap(HubDataset.files(source)).pipe(
              Stream.flatMap((file) =>
                RowFiles.read(source, file).pipe(Stream.map((row) => ({ ...row, place: `${source} (${file})` })))
              )
            )
        }).pipe(Stream.provideContext(context))
      )
    })
  )

/** Rows from the hub and from files, on Node. */
export const layer: Layer.Layer<Dataset> = layerNoDeps.pipe(Layer.provide([NodeServices.layer, FetchHttpClient.layer]))

/** Tables in memory, by source; rows are decoded like those of files. */
export const layerMemory = (tables: { readonly [source: string]: ReadonlyArray<unknown> }): Layer.Layer<Dataset> =>
  Layer.succeed(
    Dataset,
    fromRows((source) => {
      const rows = Object.hasOwn(tables, source) ? tables[source] : undefined
      return rows === undefined
        ? Stream.fail(
            new DatasetError({
              source,
              message: `unknown table "${source}"; tables in memory: ${Object.keys(tables).join(", ")}`
            })
          )
        : Stream.fromArray(rows.map((value, index) => ({ value, row: index + 1, unit: "row" as const, place: source })))
    })
  )

/** All rows of a source, endlessly, in a new order every epoch; see `shuffle`. */
export const shuffled = Effect.fn("Dataset.shuffled")(function* <A, I, RD>(
  source: string,
  row: Schema.Codec<A, I, RD, unknown>,
  options: { readonly seed: number }
) {
  const dataset = yield* Dataset
  const rows = yield* dataset.rows(source, row)
  if (rows.length === 0) return yield* new DatasetError({ source, message: `${source} has no rows` })
  return shuffle(rows, options)
})

/** Items from a cursor on, with the digest of the rows that a cursor counts. */
export interface Shuffled<A> {
  (cursor: number): Stream.Stream<A>
  readonly digest: Effect.Effect<string>
}

/**
 * Endless rows from a cursor (rows already taken) on. The order of an epoch depends on seed, epoch and number of rows
 * only, so a stream resumes exactly at its cursor, at no cost for earlier epochs. Empty without rows.
 */
export const shuffle = <A>(rows: ReadonlyArray<A>, { seed }: { readonly seed: number }): Shuffled<A> =>
  Object.assign(
    (cursor: number): Stream.Stream<A> =>
      rows.length === 0
        ? Stream.empty
        : Stream.paginate(cursor, (from: number) => {
            const epoch = Math.floor(from / rows.length)
            const order = permutation(rows.length, seed, epoch)
            const items = Array.from(order.subarray(from % rows.length), (index) => rows[index]!)
            return Effect.succeed([items, Option.some((epoch + 1) * rows.length)] as const)
          }),
    { digest: digestOf(rows, seed) }
  )

const hashedAtOnce = 256

/** Digest of the rows in order and the seed: changes with the rows and with their order. */
const digestOf = Effect.fn("Dataset.digestOf")(function* (rows: ReadonlyArray<unknown>, seed: number) {
  const hash = createHash("sha256").update(String(seed))
  for (const [index, row] of rows.entries()) {
    hash.update("\n").update(ContentId.canonical(row))
    if (index % hashedAtOnce === hashedAtOnce - 1) yield* Effect.yieldNow
  }
  return hash.digest("hex").slice(0, 16)
})

/** Holds out rows for tests, selected by the seed; both parts keep the order of `rows`. */
export const split = <A>(
  rows: ReadonlyArray<A>,
  { seed, testFraction }: { readonly seed: number; readonly testFraction: number }
): { readonly train: ReadonlyArray<A>; readonly test: ReadonlyArray<A> } => {
  const selected = new Set(permutation(rows.length, seed, 0).subarray(0, Math.round(rows.length * testFraction)))
  return {
    train: rows.filter((_, index) => !selected.has(index)),
    test: rows.filter((_, index) => selected.has(index))
  }
}

interface PlacedRow extends RowFiles.Row {
  /** The file, for messages. */
  readonly place: string
}

/** The rows of local files, one file after the other. */
const ofFiles = (source: string, files: ReadonlyArray<string>) =>
  Stream.fromIterable(files).pipe(
    Stream.flatMap((file) =>
      RowFiles.read(source, file).pipe(
        Stream.map((row) => ({ ...row, place: files.length === 1 ? source : `${source} (${file})` }))
      )
    )
  )

const fromRows = (read: (source: string) => Stream.Stream<PlacedRow, DatasetError>): DatasetShape => {
  const stream = <A, I, RD>(
    source: string,
    row: Schema.Codec<A, I, RD, unknown>,
    { asWritten = false } = {}
  ): Stream.Stream<A, DatasetError, RD> => {
    const decode = Schema.decodeUnknownEffect(row)
    return read(source).pipe(
      Stream.mapArrayEffect(
        Effect.forEach((placed) => {
          return decode(asWritten ? placed.value : ExactJson.plainOrText(placed.value)).pipe(
            Effect.mapError((error) => misfit(source, placed, error))
          )
        })
      )
    )
  }
  return { stream, rows: (source, row) => Stream.runCollect(stream(source, row)) }
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined

const misfit = (source: string, { place, row, unit, value }: PlacedRow, error: Schema.SchemaError): DatasetError => {
  const [issue] = formatIssue(error.issue).issues
  const path = (issue?.path ?? []).map((key) => String(typeof key === "object" ? key.key : key))
  const field = path.join(".")
  const columns = typeof value === "object" && value !== null ? Object.keys(value) : []
  const isAbsent = path.length === 1 && !columns.includes(field)
  const beyond = ExactJson.beyondDouble(path.reduce<unknown>(memberOf, value))
  const message =
    beyond === undefined
      ? (issue?.message ?? error.message)
      : `the number ${beyond.slice(0, 40)} is beyond the range of a double; write it as text`
  return new DatasetError({
    source,
    row,
    ...(field !== "" && { field }),
    message: isAbsent
      ? `${place}, ${unit} ${row}: unknown column ${JSON.stringify(field)}; the columns are ${columns.join(", ")}`
      : `${place}, ${unit} ${row}${field === "" ? "" : `, field ${field}`}: ${message}`,
    cause: error
  })
}
