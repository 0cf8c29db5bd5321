/**
 * Reads a parquet file in its own thread, since decompressing a row group can take seconds: answers every "next" with
 * up to 1000 rows, and with null after the last. 64-bit integers become numbers if exact, decimals
 * `ParquetDecimals.Marked` text, timestamps a `Date`; `areCut` is true once one had digits below milliseconds. Bytes of
 * a column that is not declared as text become text if they are valid text (old files do not declare it), and stay
 * bytes otherwise (images).
 */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet"
import { compressors, decompressLz4, decompressLz4Raw } from "hyparquet-compressors"
import { parentPort, workerData } from "node:worker_threads"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as ParquetDecimals from "./ParquetDecimals.ts"

const rowsPerMessage = 1000

const utf8 = new TextDecoder("utf-8", { fatal: true })

const textOrBytes = (bytes: Uint8Array): string | Uint8Array => {
  if (bytes.includes(0)) return bytes
  try {
    return utf8.decode(bytes)
  } catch {
    return bytes
  }
}

const plain = (value: unknown): unknown => {
  // The library has undefined for null lists and structs.
  if (value === undefined) return null
  if (value instanceof Uint8Array) return textOrBytes(value)
  if (typeof value === "bigint") return ExactJson.ofInteger(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]))
  }
  return value
}

let areCut = false

const dateOf = (time: bigint, perMilli: bigint): Date => {
  areCut ||= time % perMilli !== 0n
  return new Date(Number(time / perMilli))
}

/** JSON of a column of that type, and the times that are finer than a date. */
const parsers = {
  timestampFromMicroseconds: (micros: bigint) => dateOf(micros, 1000n),
  timestampFromNanoseconds: (nanos: bigint) => dateOf(nanos, 1_000_000n),
  jsonFromBytes: (bytes: Uint8Array | undefined): unknown => bytes && ExactJson.parse(new TextDecoder().decode(bytes))
}

/** The LZ4 block of no bytes, such as the dictionary of a column of nulls, is one that the library refuses. */
const unlessEmpty =
  (decompress: typeof decompressLz4) =>
  (input: Uint8Array, length: number): Uint8Array =>
    length === 0 ? new Uint8Array() : decompress(input, length)

const decompressors: typeof compressors = {
  ...compressors,
  LZ4: unlessEmpty(decompressLz4),
  LZ4_RAW: unlessEmpty(decompressLz4Raw)
}

async function* slices(path: string) {
  const file = await asyncBufferFromFile(path)
  const described = await parquetMetadataAsync(file)
  const metadata = ParquetDecimals.stored(described)
  const withDecimals = ParquetDecimals.reader(described, ParquetDecimals.mark)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const rows = await parquetReadObjects({
      file,
      metadata,
      compressors: decompressors,
      rowStart,
      rowEnd,
      utf8: false,
      parsers
    })
    for (let at = 0; at < rows.length; at += rowsPerMessage) {
      const some = rows.slice(at, at + rowsPerMessage)
      const areMarked = withDecimals !== undefined
      yield { rows: (areMarked ? some.map(withDecimals) : some).map(plain), areMarked, areCut }
    }
    rowStart = rowEnd
  }
}

const port = parentPort
if (port !== null && typeof workerData === "string") {
  const iterator = slices(workerData)
  port.on("message", () => {
    iterator.next().then(
      ({ done, value }) => port.postMessage(done === true ? { rows: null } : value),
      // The library's errors for damaged files are unspecific.
      (error: unknown) =>
        port.postMessage({
          error: `it is not a parquet file, or is corrupt (${error instanceof Error ? error.message : String(error)})`
        })
    )
  })
}
