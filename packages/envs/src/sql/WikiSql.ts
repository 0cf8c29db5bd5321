/**
 * Reads rows of WikiSQL (Zhong et al. 2017, https://arxiv.org/abs/1709.00103): a question, its table with `header`,
 * `types` and `rows`, and its query as `sel`, `agg` and `conds`.
 *
 * Conditions are a list of `[column, operator, value]`, or the struct of lists that the `datasets` library makes of it.
 * The table is named `data`. Texts are compared ignoring case, as in the data set's own evaluation.
 */
import { Option, Result, Schema } from "effect"

const value = Schema.Union([Schema.String, Schema.Finite, Schema.BigInt])
type Value = typeof value.Type

const Wiki = Schema.Struct({
  table: Schema.Struct({
    header: Schema.NonEmptyArray(Schema.String),
    types: Schema.Array(Schema.String),
    rows: Schema.NonEmptyArray(Schema.Array(value))
  }),
  sql: Schema.Struct({
    sel: Schema.Natural,
    agg: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
    conds: Schema.Union([
      Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural, value])),
      Schema.Struct({
        column_index: Schema.Array(Schema.Natural),
        operator_index: Schema.Array(Schema.Natural),
        condition: Schema.Array(value)
      })
    ])
  })
})

type Condition = readonly [column: number, operator: number | undefined, input: Value | undefined]

export interface Made {
  readonly database: string
  readonly gold: string
}

const aggregates = ["", "MAX", "MIN", "COUNT", "SUM", "AVG"]
const operators = ["=", ">", "<"]

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Converts a number with thousands separators, `1,234`, to SQL. */
const numberOf = (input: Value): string | undefined => {
  const text = String(input).replaceAll(",", "").trim()
  if (integer.test(text)) return String(BigInt(text.replace("+", "")))
  return /^[-+]?(?:\d{1,400}\.\d{0,400}|\.\d{1,400}|\d(?:\.\d{1,20})?e[-+]?\d{1,3})$/i.test(text)
    ? String(Number(text))
    : undefined
}

const integer = /^[-+]?\d{1,400}$/

/** The SQL type of a column. */
type Held = "REAL" | "INTEGER" | "TEXT" | "TEXT COLLATE NOCASE"

/** The type of a column of numbers: determined by the longest integer in its cells and conditions. */
const heldAs = (values: ReadonlyArray<Value>): Held => {
  const integers = values.flatMap((one) => {
    const text = numberOf(one)
    return text !== undefined && integer.test(text) ? [BigInt(text)] : []
  })
  if (integers.some((one) => BigInt.asIntN(64, one) !== one)) return "TEXT"
  return integers.some((one) => BigInt(Number(one)) !== one || !Number.isSafeInteger(Number(one))) ? "INTEGER" : "REAL"
}

/** Makes column names unique by numbering repeated ones. */
const named = (header: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return header.map((name) => {
    let unique = name.trim() === "" ? "column" : name.trim()
    for (let count = 2; seen.has(unique.toLowerCase()); count++) unique = `${name.trim()} ${count}`
    seen.add(unique.toLowerCase())
    return unique
  })
}

const decode = Schema.decodeUnknownOption(Wiki)

/** The database and the query of a row, or what is wrong with it. */
export const made = (row: { readonly table: unknown; readonly sql: unknown }): Result.Result<Made, string> => {
  const found = decode(row)
  if (Option.isNone(found)) {
    return Result.fail(
      "it must have a table with header, types and rows, and sql with sel, agg and conds, as WikiSQL has"
    )
  }
  const { sql, table } = found.value
  const names = named(table.header)
  const { conds } = sql
  const conditions: ReadonlyArray<Condition> =
    "column_index" in conds
      ? conds.column_index.map((column, at) => [column, conds.operator_index[at], conds.condition[at]])
      : conds
  const odd = [sql.sel, ...conditions.map(([column]) => column)].find((at) => at >= names.length)
  if (odd !== undefined) return Result.fail(`its query is of column ${odd}, and there are ${names.length}`)
  const cellsOf = (at: number): ReadonlyArray<Value> => [
    ...table.rows.flatMap((cells) => cells.slice(at, at + 1)),
    ...conditions.flatMap(([column, , input]) => (column === at && input !== undefined ? [input] : []))
  ]
  const held = names.map((_, at): Held => (table.types[at] === "real" ? heldAs(cellsOf(at)) : "TEXT COLLATE NOCASE"))
  const stored = (input: Value, at: number): string => {
    const number = held[at] === "TEXT COLLATE NOCASE" ? undefined : numberOf(input)
    return number === undefined || held[at] === "TEXT" ? literal(number ?? String(input)) : number
  }
  const computed = [
    sql.agg === 0 || sql.agg === 3 ? -1 : sql.sel,
    ...conditions.map(([column, at]) => (at === 0 ? -1 : column))
  ]
  const long = computed.find((at) => held[at] === "TEXT")
  if (long !== undefined) {
    return Result.fail(
      `its query computes with "${names[long] ?? ""}", which holds integers of more than 64 bits: SQLite would round them`
    )
  }
  const wheres = conditions.map(([column, operator, input]) =>
    operator === undefined || input === undefined || operators[operator] === undefined
      ? undefined
      : `${identifier(names[column]!)} ${operators[operator]} ${stored(input, column)}`
  )
  if (wheres.includes(undefined)) return Result.fail("its conditions have an operator that is not one of =, > and <")
  const selected = identifier(names[sql.sel]!)
  const aggregate = aggregates[sql.agg]!
  return Result.succeed({
    database: [
      `CREATE TABLE data (${names.map((name, at) => `${identifier(name)} ${held[at] ?? "REAL"}`).join(", ")});`,
      `INSERT INTO data VALUES\n${table.rows.map((cells) => `(${names.map((_, at) => stored(cells[at] ?? "", at)).join(", ")})`).join(",\n")};`
    ].join("\n"),
    gold: `SELECT ${aggregate === "" ? selected : `${aggregate}(${selected})`} FROM data${wheres.length === 0 ? "" : ` WHERE ${wheres.join(" AND ")}`}`
  })
}
