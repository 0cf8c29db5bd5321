/**
 * Defines the result of a query, and the equality of two results.
 *
 * Rows are a multiset; their order matters only if the query orders them. Columns match in any order and under any
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

const lines = ({ rows }: Table, order: ReadonlyArray<number>): ReadonlyArray<string> =>
  rows.map((row) => order.map((at) => key(row[at] ?? null)).join("\u0000"))

/** Compares two results, including the order of their rows if it matters. */
export const areEqual = (target: Table, other: Table, isOrdered: boolean): boolean => {
  if (target.columns !== other.columns || target.rows.length !== other.rows.length) return false
  const settled = (all: ReadonlyArray<string>) => (isOrdered ? all : all.toSorted()).join("\u0001")
  const expected = settled(
    lines(
      target,
      Array.from({ length: target.columns }, (_, at) => at)
    )
  )
  for (const order of pairings(target, other)) if (settled(lines(other, order)) === expected) return true
  return false
}

/** True if a query orders its rows: `ORDER BY` outside of brackets, strings and comments. */
export const isOrdered = (sql: string): boolean => {
  // Unclosed parts extend to the end, so that nothing is read twice.
  const parts =
    /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[()]|\border\s+by\b/gi
  let depth = 0
  let found = false
  for (const [part] of sql.matchAll(parts)) {
    if (part === "(") depth++
    else if (part === ")") depth--
    else if (depth === 0 && /^order/i.test(part)) found = true
  }
  return found
}
