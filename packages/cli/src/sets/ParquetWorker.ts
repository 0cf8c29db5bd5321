/**
 * Writes the rows of a JSON Lines file as parquet in a separate thread, since compressing a row group is slow. Reads
 * the file twice, for types and for rows, and holds a thousand rows at a time.
 */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { ParquetWriter, fileWriter } from "hyparquet-writer"
import { closeSync, createReadStream, fsyncSync, openSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import * as Columns from "./Columns.ts"

export interface Task {
  readonly from: string
  readonly to: string
  /** Columns for a file without rows. */
  readonly columns: ReadonlyArray<string>
}

type Row = { readonly [column: string]: unknown }

const rowsPerGroup = 1000

/** Lines end only at line feeds: Node's `readline` also splits at U+2028 and U+2029, which JSON does not escape. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let parts: Array<string> = []
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 256 * 1024 })) {
    // With an encoding, chunks are texts.
    const [first = "", ...others] = (chunk as string).split("\n")
    parts.push(first)
    for (const other of others) {
      yield parts.join("")
      parts = [other]
    }
  }
  yield parts.join("")
}

async function* rowsOf(path: string): AsyncGenerator<Row> {
  for await (const line of linesOf(path)) {
    // Written by this command, one object per line.
    if (line.trim() !== "") yield ExactJson.parseWritten(line) as Row
  }
}

const write = async ({ columns, from, to }: Task): Promise<void> => {
  let type: Columns.Type = { kind: "struct", fields: new Map(columns.map((column) => [column, Columns.any])) }
  for await (const row of rowsOf(from)) type = Columns.common(type, Columns.typeOf(row))
  const unfit = Columns.unfitArguments(type)
  if (unfit !== undefined) {
    throw new Error(
      `${unfit} has values of different types, or none, for which parquet has no column: write JSON Lines`
    )
  }
  const fields = type.kind === "struct" ? [...type.fields] : []
  const writer = new ParquetWriter({
    writer: fileWriter(to),
    schema: [
      { name: "root", num_children: fields.length },
      ...fields.flatMap(([name, field]) => Columns.elements(name, field))
    ],
    createdBy: "atropos"
  })
  let rows: Array<Row> = []
  const flush = async () => {
    if (rows.length === 0) return
    const columnData = fields.map(([name, field]) => ({
      name,
      data: rows.map((row) => Columns.conform(row[name], field))
    }))
    await writer.write({ columnData, rowGroupSize: rowsPerGroup })
    rows = []
  }
  for await (const row of rowsOf(from)) {
    rows.push(row)
    if (rows.length >= rowsPerGroup) await flush()
  }
  await flush()
  await writer.finish()
  const file = openSync(to, "r+")
  fsyncSync(file)
  closeSync(file)
}

const port = parentPort
if (port !== null) {
  write(workerData as Task).then(
    () => port.postMessage({ done: true }),
    (error: unknown) => port.postMessage({ error: error instanceof Error ? error.message : String(error) })
  )
}
