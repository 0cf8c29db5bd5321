/** Downloads generated files: CSV, JSON lines and pictures. */

const hand = (name: string, blob: Blob): void => {
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 120)
  link.click()
  // The browser reads it after the click; on a busy machine seconds later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

export const text = (name: string, content: string): void =>
  hand(name, new Blob([content], { type: name.endsWith(".csv") ? "text/csv" : "application/x-ndjson" }))

export const picture = (name: string, canvas: HTMLCanvasElement): void =>
  canvas.toBlob((blob) => {
    if (blob !== null) hand(name, blob)
  }, "image/png")

export type Value = string | number | boolean | null

/** JSON has neither NaN nor infinities: they are strings, as in the service's API. */
export const jsonLines = (rows: ReadonlyArray<object>): string =>
  rows
    .map(
      (row) =>
        `${JSON.stringify(row, (_, value: unknown) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value))}\n`
    )
    .join("")

/** Escapes cells that a spreadsheet would evaluate as a formula. */
const cell = (value: Value | undefined): string => {
  if (value === null || value === undefined) return ""
  if (typeof value !== "string") return String(value)
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** By RFC 4180, with a header row. */
export const csv = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Value>>): string =>
  [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("")

export interface Table {
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<Value>>
}

export const objects = ({ columns, rows }: Table): ReadonlyArray<object> =>
  rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null])))
