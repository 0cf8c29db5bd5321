/**
 * Defines the result of a query, and the equality of two results.
 *
 * Rows are a multiset; their order matters only if the query orders them, and then not among rows that it ranks equal,
 * where the result has the columns that it orders by. Columns match in any order and under any
 * names. Integers are compared exactly, other numbers to twelve digits, texts verbatim, and NULL equals only NULL.
 */
export type Value = string | number | bigint | null

export interface Table {
  readonly columns: number
  readonly rows: ReadonlyArray<ReadonlyArray<Value>>
}

/** Relative distance within which a number counts as an integer. */
const rounding = 1e-12

/**
 * A value's key for comparison: integers exactly, including doubles within rounding; other numbers to twelve digits.
 */
const key = (value: Value): string => {
  if (value === null) return "∅"
  if (typeof value === "string") return `'${value}`
  if (typeof value === "bigint") return `#${value}`
  const nearest = Math.round(value)
  const isInteger = Number.isFinite(value) && Math.abs(value - nearest) <= rounding * Math.abs(value)
  return `#${isInteger ? BigInt(nearest) : Number(value.toPrecision(12))}`
}

const columnOf = ({ rows }: Table, at: number): ReadonlyArray<string> => rows.map((row) => key(row[at] ?? null))

/** The values of a column, independent of their order. */
const bag = (values: ReadonlyArray<string>): string => values.toSorted().join("\u0000")

const bags = (table: Table): ReadonlyArray<string> =>
  Array.from({ length: table.columns }, (_, at) => bag(columnOf(table, at)))

/** Share of the wanted columns whose values equal those of a given column; surplus columns reduce it. */
export const columnShare = (target: Table, other: Table): number => {
  const left = [...bags(other)]
  let found = 0
  for (const one of bags(target)) {
    const at = left.indexOf(one)
    if (at === -1) continue
    left.splice(at, 1)
    found++
  }
  return found / Math.max(target.columns, other.columns)
}

/** Columns with equal values have very many pairings. */
const maxPairings = 1_000

/** Assignments of given columns to wanted ones by equal values, generated lazily. */
const pairings = function* (target: Table, other: Table): Generator<ReadonlyArray<number>> {
  const [needed, there] = [bags(target), bags(other)]
  const extend = function* (selected: ReadonlyArray<number>): Generator<ReadonlyArray<number>> {
    if (selected.length === needed.length) return yield selected
    for (const [at, one] of there.entries()) {
      if (one === needed[selected.length] && !selected.includes(at)) yield* extend([...selected, at])
    }
  }
  let count = 0
  for (const one of extend([])) {
    yield one
    if (++count >= maxPairings) return
  }
}

type Line = ReadonlyArray<string>

const lines = ({ rows }: Table, columns: ReadonlyArray<number>): ReadonlyArray<Line> =>
  rows.map((row) => columns.map((at) => key(row[at] ?? null)))

/** True if the order of rows matters; or the columns that they are ordered by, with ties in any order. */
export type Order = boolean | ReadonlyArray<number>

/** The lines with those sorted whose order does not matter. */
const settled = (all: ReadonlyArray<Line>, order: Order): string => {
  const written = all.map((line) => line.join("\u0000"))
  if (order === false) return written.toSorted().join("\u0001")
  if (order === true) return written.join("\u0001")
  const ranks = all.map((line) => order.map((at) => line[at]).join("\u0000"))
  const starts = ranks.flatMap((rank, at) => (at === 0 || rank !== ranks[at - 1] ? [at] : []))
  return starts.flatMap((start, at) => written.slice(start, starts[at + 1]).toSorted()).join("\u0001")
}

/** Compares two results, including the order of their rows if it matters. */
export const areEqual = (target: Table, other: Table, order: Order): boolean => {
  if (target.columns !== other.columns || target.rows.length !== other.rows.length) return false
  const all = Array.from({ length: target.columns }, (_, at) => at)
  const expected = settled(lines(target, all), order)
  for (const columns of pairings(target, other)) if (settled(lines(other, columns), order) === expected) return true
  return false
}

/** The text after a query's last `ORDER BY` outside of brackets, strings and comments; undefined if none. */
const ordering = (sql: string): string | undefined => {
  // Unclosed parts extend to the end, so that nothing is read twice.
  const parts =
    /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[()]|\border\s+by\b/gi
  let depth = 0
  let found: string | undefined
  for (const { 0: part, index } of sql.matchAll(parts)) {
    if (part === "(") depth++
    else if (part === ")") depth--
    else if (depth === 0 && /^order/i.test(part)) found = sql.slice(index + part.length)
  }
  return found
}

const term =
  /^\s{0,9}(?:(\d{1,4})|"([^"]{1,200})"|`([^`]{1,200})`|\[([^\]]{1,200})\]|([a-z_]\w{0,200}))(?:\s{1,9}(?:asc|desc))?(?:\s{1,9}nulls\s{1,9}(?:first|last))?\s{0,9}$/i

/**
 * The order of a query's rows, by the names of its result's columns: exact if it orders by something that is not one of
 * them, or limits the rows, so that its choice among ties is a part of the result.
 */
export const orderOf = (sql: string, names: ReadonlyArray<string>): Order => {
  const terms = ordering(sql)?.trimEnd().replace(/;$/, "").split(",")
  if (terms === undefined) return false
  const columns = terms.map((one) => {
    const [, position, ...named] = term.exec(one) ?? []
    if (position !== undefined) return Number(position) - 1
    const name = named.find((part) => part !== undefined)?.toLowerCase()
    const [first = -1, second] = names.flatMap((column, at) => (column.toLowerCase() === name ? [at] : []))
    return second === undefined ? first : -1
  })
  return columns.every((at) => at >= 0 && at < names.length) ? columns : true
}
