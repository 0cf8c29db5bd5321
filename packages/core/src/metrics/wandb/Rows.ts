/**
 * Builds the rows of a run's history, with the original's names: entries of one step form one row, which is closed by a
 * later step or by the end of the source. Only closed rows are sent, so that a line never changes.
 */
import { createHash } from "node:crypto"
import * as Readings from "../../service/Readings.ts"
import type { Entry, Table } from "../Sink.ts"
import type { WandbRun } from "./WandbRun.ts"

export interface TableFile {
  readonly name: string
  readonly bytes: Uint8Array
}

export interface Row {
  readonly step: number
  readonly at: number
  readonly values: { readonly [name: string]: unknown }
  /** Tables that the values reference. */
  readonly files: ReadonlyArray<TableFile>
}

export interface Rows {
  /** The row that this entry closed, if any. */
  readonly add: (entry: Entry) => Row | undefined
  /** Closes the last row. */
  readonly end: () => Row | undefined
}

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
  return { files: [{ name: file, bytes }], values: { [`${prefix}${name}`]: value } }
}

const prefixed = (prefix: string, values: Readings.Values): { readonly [name: string]: number | string } =>
  Object.fromEntries(
    Object.entries(Readings.encode(values)).map(([name, value]) => [
      name.startsWith("server/") ? name : `${prefix}${name}`,
      value
    ])
  )

/**
 * Rows with increasing steps, after those up to `before`: an entry of an earlier step is added to the newest row, with
 * a note. A trainer's entries up to `before` are skipped, because they repeat work that is already recorded.
 */
export const make = ({ kind, prefix }: Pick<WandbRun, "kind" | "prefix">, before = Number.NEGATIVE_INFINITY): Rows => {
  let open: Row | undefined
  let newest = before
  return {
    add: (entry) => {
      if (kind === "trainer" && entry.step <= before) return undefined
      // A row that the server has is not reopened.
      const step = Math.max(entry.step, newest === before && Number.isFinite(before) ? before + 1 : newest)
      newest = step
      const { files, values } =
        entry._tag === "Table" ? tableFile(entry, prefix) : { files: [], values: prefixed(prefix, entry.values) }
      const late = step > entry.step ? { [`${prefix}recorded_for_step`]: entry.step } : {}
      const closed = open === undefined || step > open.step ? open : undefined
      const earlier = open !== undefined && step === open.step ? open : { values: {}, files: [] }
      open = {
        step,
        at: entry.at,
        values: { ...earlier.values, ...values, ...late },
        files: [...earlier.files, ...files]
      }
      return closed
    },
    end: () => {
      const closed = open
      open = undefined
      return closed
    }
  }
}
