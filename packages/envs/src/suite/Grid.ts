/** Writes grids of ARC-AGI for prompts, and reads them from answers. */

export type Grid = ReadonlyArray<ReadonlyArray<number>>

const isGrid = (value: unknown): value is Grid =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(
    (row: unknown) =>
      Array.isArray(row) &&
      row.length > 0 &&
      row.every((cell) => Number.isInteger(Number(cell)) && cell >= 0 && cell <= 9)
  )

/** The grid of a column; undefined if it is not one. Converts the integers of Parquet. */
export const of = (value: unknown): Grid | undefined => {
  const lists = Array.isArray(value) ? value.map((row) => (Array.isArray(row) ? row.map(Number) : row)) : value
  return isGrid(lists) ? lists : undefined
}

/** One line per row, numbers separated by spaces. */
export const written = (grid: Grid): string => grid.map((row) => row.join(" ")).join("\n")

const line = /^[\s[\](),"'|]*\d(?:[\s[\](),"'|]*\d)*[\s[\](),"'|]*$/

/** The last block of rows of digits: `1 2`, `12`, `[1, 2],`. */
export const read = (text: string): Grid | undefined => {
  const json = lastJson(text)
  if (json !== undefined) return json
  const lines = text.slice(-20_000).split("\n")
  let end = lines.length
  while (end > 0 && !line.test(lines[end - 1] ?? "")) end--
  let start = end
  while (start > 0 && line.test(lines[start - 1] ?? "")) start--
  const rows = lines.slice(start, end).map((one) => Array.from(one.matchAll(/\d/g), ([digit]) => Number(digit)))
  return of(rows)
}

/** The last list of lists in a text. */
const lastJson = (text: string): Grid | undefined => {
  const end = text.lastIndexOf("]]")
  const close = end === -1 ? /\]\s{0,8}\]/g : undefined
  const stop = close === undefined ? end + 2 : (Array.from(text.matchAll(close)).at(-1)?.index ?? -1)
  if (stop === -1) return undefined
  const tail = text.slice(Math.max(0, stop - 20_000), close === undefined ? stop : text.indexOf("]", stop + 1) + 1)
  const starts = Array.from(tail.matchAll(/\[\s{0,8}\[/g)).at(-1)?.index
  if (starts === undefined) return undefined
  const rows = Array.from(tail.slice(starts + 1).matchAll(/\[([^[\]]{0,400})\]/g), ([, row = ""]) =>
    Array.from(row.matchAll(/\d+/g), ([number]) => Number(number))
  )
  return of(rows)
}

/** The share of right cells; 0 if the sizes differ. */
export const share = (answer: Grid, gold: Grid): number => {
  const isSame = answer.length === gold.length && answer.every((row, at) => row.length === gold[at]?.length)
  if (!isSame) return 0
  const cells = gold.flat()
  return answer.flat().filter((cell, at) => cell === cells[at]).length / cells.length
}
