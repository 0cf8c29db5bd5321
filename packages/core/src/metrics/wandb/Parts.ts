/** Converts records to parts of rows, with the original's names, and tables to files. */
import { createHash } from "node:crypto"
import * as Readings from "../../service/Readings.ts"
import type { Entry, Table } from "../Sink.ts"
import type { Run } from "./Journal.ts"
import type { Part } from "./Rows.ts"

/** A table as a file of the run, and as referenced by the row. */
const tableFile = ({ columns, name, rows, step }: Table, prefix: string) => {
  const bytes = new TextEncoder().encode(JSON.stringify({ columns, data: rows }))
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  const file = `media/table/${prefix}${name}_${step}_${sha256.slice(0, 20)}.table.json`
  const value = {
    _type: "table-file",
    path: file,
    sha256,
    size: bytes.length,
    ncols: columns.length,
    nrows: rows.length
  }
  return { file: { name: file, bytes }, values: { [`${prefix}${name}`]: value } }
}

const prefixed = (prefix: string, values: Readings.Values): { readonly [name: string]: number | string } =>
  Object.fromEntries(
    Object.entries(Readings.encode(values)).map(([name, value]) => [
      name.startsWith("server/") ? name : `${prefix}${name}`,
      value
    ])
  )

interface TableFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Entries as parts of rows with increasing steps: an entry of an earlier step is added to the newest row, with a note.
 * A trainer's steps recorded by an earlier process (up to `before`) are skipped, because they repeat the same work.
 */
export const make = (
  entries: ReadonlyArray<Entry>,
  { kind, prefix }: Run,
  { before, newest: last }: { readonly before: number; readonly newest: number }
) => {
  const parts: Array<Part> = []
  const files: Array<TableFile> = []
  let newest = last
  for (const entry of entries) {
    if (kind === "trainer" && entry.step <= before) continue
    // A row closed by an earlier process is not reopened.
    const step = Math.max(entry.step, newest === before && Number.isFinite(before) ? before + 1 : newest)
    const late = step > entry.step ? { [`${prefix}recorded_for_step`]: entry.step } : {}
    newest = step
    if (entry._tag === "Figures") {
      parts.push({ step, at: entry.at, values: { ...prefixed(prefix, entry.values), ...late } })
      continue
    }
    const table = tableFile(entry, prefix)
    files.push(table.file)
    parts.push({ step, at: entry.at, values: { ...table.values, ...late }, files: [table.file.name] })
  }
  return { parts, files, newest }
}
