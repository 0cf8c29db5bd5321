/**
 * Reads a parquet file in its own thread, since decompressing a row group can take seconds: answers every "next" with
 * up to 1000 rows, and with null after the last. 64-bit integers become numbers if exact, decimals
 * `ParquetDecimals.Marked` text. Bytes of a column that is not declared as text become text if they are valid text (old
 * files do not declare it), and stay bytes otherwise (images).
 */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet"
import { compressors } from "hyparquet-compressors"
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
  if (value instanceof Uint8Array) return textOrBytes(value)
  if (typeof value === "bigint") return ExactJson.ofInteger(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]))
  }
  return value
}

/** JSON of a column of that type. */
const parsers = {
  jsonFromBytes: (bytes: Uint8Array | undefined): unknown => bytes && ExactJson.parse(new TextDecoder().decode(bytes))
}

async function* slices(path: string) {
  const file = await asyncBufferFromFile(path)
  const described = await parquetMetadataAsync(file)
  const metadata = ParquetDecimals.stored(described)
  const withDecimals = ParquetDecimals.reader(described, ParquetDecimals.mark)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const rows = await parquetReadObjects({ file, metadata, compressors, rowStart, rowEnd, utf8: false, parsers })
    for (let at = 0; at < rows.length; at += rowsPerMessage) {
      const some = rows.slice(at, at + rowsPerMessage)
      const areMarked = withDecimals !== undefined
      yield { rows: (areMarked ? some.map(withDecimals) : some).map(plain), areMarked }
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
