/** Files that the page makes: CSV, JSON lines and pictures, handed to the browser as downloads. */

const hand = (name: string, blob: Blob): void => {
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 120)
  link.click()
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export const text = (name: string, content: string): void =>
  hand(name, new Blob([content], { type: name.endsWith(".csv") ? "text/csv" : "application/x-ndjson" }))

export const picture = (name: string, canvas: HTMLCanvasElement): void =>
  canvas.toBlob((blob) => {
    if (blob !== null) hand(name, blob)
  }, "image/png")

export type Value = string | number | boolean | null

/** JSON has neither NaN nor infinities: they are strings, as on the service's wire. */
export const jsonLines = (rows: ReadonlyArray<object>): string =>
  rows
    .map(
      (row) =>
        `${JSON.stringify(row, (_, value: unknown) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value))}\n`
    )
    .join("")

/** What a spreadsheet would take for a formula is kept from being one. */
const cell = (value: Value | undefined): string => {
  if (value === null || value === undefined) return ""
  if (typeof value !== "string") return String(value)
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** As RFC 4180 has it, with the names of the columns first. */
export const csv = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Value>>): string =>
  [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("")

/** A table: named columns, and rows in their order. */
export interface Table {
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<Value>>
}

export const objects = ({ columns, rows }: Table): ReadonlyArray<object> =>
  rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null])))
