/**
 * The result of a query, and whether two results are the same.
 *
 * Rows are a bag: how often one is there counts, their order only where it is asked for. Columns are found whatever
 * their order and their names. Integers are equal exactly, other numbers to twelve digits, texts as they are written,
 * and NULL is equal to NULL alone.
 */
export type Value = string | number | bigint | null

export interface Table {
  readonly columns: number
  readonly rows: ReadonlyArray<ReadonlyArray<Value>>
}

/** How far a number may be from an integer, as a share of it, to be taken for that. */
const rounding = 1e-12

/** A value as it is compared: integers exactly, also those that doubles come to; other numbers by twelve digits. */
const key = (value: Value): string => {
  if (value === null) return "∅"
  if (typeof value === "string") return `'${value}`
  if (typeof value === "bigint") return `#${value}`
  const nearest = Math.round(value)
  const isInteger = Number.isFinite(value) && Math.abs(value - nearest) <= rounding * Math.max(1, Math.abs(value))
  return `#${isInteger ? BigInt(nearest) : Number(value.toPrecision(12))}`
}

const columnOf = ({ rows }: Table, at: number): ReadonlyArray<string> => rows.map((row) => key(row[at] ?? null))

/** The values of a column, however they are ordered. */
const bag = (values: ReadonlyArray<string>): string => values.toSorted().join("\u0000")

const bags = (table: Table): ReadonlyArray<string> =>
  Array.from({ length: table.columns }, (_, at) => bag(columnOf(table, at)))

/** Share of the wanted columns whose values are those of a column that is given; of more columns than wanted, less. */
export const columnShare = (wanted: Table, given: Table): number => {
  const left = [...bags(given)]
  let found = 0
  for (const one of bags(wanted)) {
    const at = left.indexOf(one)
    if (at === -1) continue
    left.splice(at, 1)
    found++
  }
  return found / Math.max(wanted.columns, given.columns)
}

/** Many columns with the same values could be paired in very many ways. */
const mostPairings = 1_000

/** Which given column is which wanted one, in every way in which their values agree; few at a time. */
const pairings = function* (wanted: Table, given: Table): Generator<ReadonlyArray<number>> {
  const [needed, there] = [bags(wanted), bags(given)]
  const extend = function* (chosen: ReadonlyArray<number>): Generator<ReadonlyArray<number>> {
    if (chosen.length === needed.length) return yield chosen
    for (const [at, one] of there.entries()) {
      if (one === needed[chosen.length] && !chosen.includes(at)) yield* extend([...chosen, at])
    }
  }
  let count = 0
  for (const one of extend([])) {
    yield one
    if (++count >= mostPairings) return
  }
}

const lines = ({ rows }: Table, order: ReadonlyArray<number>): ReadonlyArray<string> =>
  rows.map((row) => order.map((at) => key(row[at] ?? null)).join("\u0000"))

/** Whether two results are the same, with the order of their rows where it counts. */
export const areEqual = (wanted: Table, given: Table, isOrdered: boolean): boolean => {
  if (wanted.columns !== given.columns || wanted.rows.length !== given.rows.length) return false
  const settled = (all: ReadonlyArray<string>) => (isOrdered ? all : all.toSorted()).join("\u0001")
  const expected = settled(
    lines(
      wanted,
      Array.from({ length: wanted.columns }, (_, at) => at)
    )
  )
  for (const order of pairings(wanted, given)) if (settled(lines(given, order)) === expected) return true
  return false
}

/** Whether a query says in which order its rows come: `ORDER BY` outside of brackets, texts and comments. */
export const isOrdered = (sql: string): boolean => {
  // What is opened and never closed goes on to the end, so that nothing is read twice.
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
