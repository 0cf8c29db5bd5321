/** Formats tables for terminals and logs: columns as wide as their content, the last one unpadded. */
import * as Terminal from "./Terminal.ts"

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - text.length))

/** Escaped as printed, so that widths match. */
const formatCell = (cell: string): string => Terminal.escape(cell)

/** Formats rows under headings; no cell is truncated. */
export const columns = (headings: ReadonlyArray<string>, cells: ReadonlyArray<ReadonlyArray<string>>): string => {
  const rows = cells.map((row) => row.map(formatCell))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? "").length))
  )
  const line = (row: ReadonlyArray<string>) =>
    row.map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0))).join("  ")
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}

export const pairs = (lines: ReadonlyArray<readonly [string, string]>): string => {
  const entries = lines.map(([name, value]) => [formatCell(name), value] as const)
  const width = Math.max(...entries.map(([name]) => name.length)) + 2
  return entries.map(([name, value]) => `${pad(name, width)}${value}`).join("\n")
}
