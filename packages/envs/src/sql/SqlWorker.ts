/**
 * Runs queries in a thread; not a module to import.
 *
 * SQLite is WebAssembly (SQLite's own build) with an in-memory file system, so no file of this machine can be attached
 * and no extension loaded. Every query gets a fresh read-only database, and an authorizer that allows only reading and
 * computing: no writes, no PRAGMA, no ATTACH. Steps, rows, bytes and lengths are bounded, so that the verdict does not
 * depend on the machine's speed; the caller's deadline covers the rest.
 */
import { parentPort } from "node:worker_threads"
import init, { type Database, type Sqlite3Static, type SqlValue } from "@sqlite.org/sqlite-wasm"
// Not all of effect, so that the thread starts fast.
import * as Result from "effect/Result"
import * as Table from "./Table.ts"

/** SQL that creates a database, or the bytes of a database file. */
export type Source = string | Uint8Array

export interface Question {
  readonly databases: ReadonlyArray<Source>
  /** Absent: the database is described, for a prompt. */
  readonly queries?: { readonly gold: string; readonly input: string }
  /** Rows of each table to show in a description. */
  readonly shown: number
}

/**
 * `judged`: `executes` on all databases, `columns` the share of the gold's columns that are right, and whether the
 * results are equal on each. `unusable`: a database or the gold query is at fault.
 */
export type Verdict =
  | { readonly _tag: "described"; readonly schema: string }
  | {
      readonly _tag: "judged"
      readonly executes: boolean
      readonly columns: number
      readonly isCorrect: boolean
      readonly problem?: string
    }
  | { readonly _tag: "unusable"; readonly problem: string }

/** Instructions of SQLite's virtual machine: a few seconds on a slow machine. */
const maxSteps = 10_000_000
const stepsAtOnce = 10_000
const maxRows = 10_000
const mostCharacters = 10_000_000
const limits = {
  SQLITE_LIMIT_LENGTH: 1_000_000,
  SQLITE_LIMIT_SQL_LENGTH: 100_000,
  SQLITE_LIMIT_EXPR_DEPTH: 100,
  SQLITE_LIMIT_COMPOUND_SELECT: 50,
  SQLITE_LIMIT_VDBE_OP: 100_000,
  SQLITE_LIMIT_FUNCTION_ARG: 32,
  SQLITE_LIMIT_ATTACHED: 0,
  SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
  SQLITE_LIMIT_TRIGGER_DEPTH: 1
} as const

// Silenced: verdicts contain SQLite's messages on queries.
for (const method of ["warn", "error", "log"] as const) console[method] = () => undefined
const sqlite: Sqlite3Static = await init()
const { capi, oo1, wasm } = sqlite

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).slice(0, 500)

/** Ends execution on a connection after a number of steps. */
const bounded = (database: Database): void => {
  let steps = 0
  capi.sqlite3_progress_handler(database, stepsAtOnce, () => ((steps += stepsAtOnce) > maxSteps ? 1 : 0), 0)
}

/** A separate in-memory database, from its bytes. */
const open = (bytes: Uint8Array): Database => {
  const database = new oo1.DB(":memory:")
  const at = wasm.allocFromTypedArray(bytes)
  const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE | capi.SQLITE_DESERIALIZE_READONLY
  database.checkRc(capi.sqlite3_deserialize(database, "main", at, bytes.length, bytes.length, flags))
  return database
}

const using = <A>(database: Database, use: (database: Database) => A): A => {
  // oxlint-disable-next-line effect/no-try -- the library is not of Effect, and a connection must be closed
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** The database that a script creates, as bytes. */
const made = (script: string): Uint8Array =>
  using(new oo1.DB(":memory:"), (database) => {
    bounded(database)
    capi.sqlite3_limit(database, capi.SQLITE_LIMIT_ATTACHED, 0)
    capi.sqlite3_limit(database, capi.SQLITE_LIMIT_LENGTH, mostCharacters)
    database.exec(script)
    return capi.sqlite3_js_db_export(database)
  })

const remembered = new Map<string, Uint8Array>()
const maxRemembered = 64

const bytesOf = (source: Source): Uint8Array => {
  if (typeof source !== "string") return source
  const before = remembered.get(source)
  if (before !== undefined) return before
  const bytes = made(source)
  const [oldest] = remembered.keys()
  if (remembered.size >= maxRemembered && oldest !== undefined) remembered.delete(oldest)
  remembered.set(source, bytes)
  return bytes
}

const allowed: ReadonlySet<number> = new Set([
  capi.SQLITE_SELECT,
  capi.SQLITE_READ,
  capi.SQLITE_FUNCTION,
  capi.SQLITE_RECURSIVE
])

const restrict = (database: Database): void => {
  for (const [name, max] of Object.entries(limits)) {
    capi.sqlite3_limit(database, capi[name as keyof typeof limits], max)
  }
  bounded(database)
  capi.sqlite3_set_authorizer(database, (_, action) => (allowed.has(action) ? capi.SQLITE_OK : capi.SQLITE_DENY), 0)
}

/** Converts SQLite's value: a blob to hexadecimal digits, an integer beyond 2^53 stays a `bigint`. */
const valueOf = (value: SqlValue): Table.Value =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint"
    ? value
    : Buffer.from(new Uint8Array(value as ArrayBuffer)).toString("hex")

const run = (
  source: Source,
  sql: string
): Result.Result<Table.Table & { readonly names: ReadonlyArray<string> }, string> =>
  Result.try({
    try: () =>
      using(open(bytesOf(source)), (database) => {
        restrict(database)
        const rows: Array<ReadonlyArray<Table.Value>> = []
        const statements: Array<string> = []
        const columns: Array<string> = []
        let characters = 0
        database.exec({
          sql,
          rowMode: "array",
          saveSql: statements,
          columnNames: columns,
          callback: (row: ReadonlyArray<SqlValue>) => {
            const values = row.map(valueOf)
            characters += values.reduce<number>((sum, value) => sum + String(value).length, 0)
            rows.push(values)
            if (rows.length > maxRows) throw new Error(`more than ${maxRows} rows`)
            if (characters > mostCharacters) throw new Error("the result is too large")
          }
        })
        if (statements.length !== 1) throw new Error(`one statement is expected, not ${statements.length}`)
        return { columns: columns.length, names: columns, rows }
      }),
    catch: reason
  })

const judge = (databases: ReadonlyArray<Source>, gold: string, input: string): Verdict => {
  const columns: Array<number> = []
  let isCorrect = true
  for (const source of databases) {
    const target = run(source, gold)
    if (Result.isFailure(target)) return { _tag: "unusable", problem: `its query fails: ${target.failure}` }
    // An empty result is too easy to match.
    if (target.success.rows.length === 0) return { _tag: "unusable", problem: "its query gives no rows" }
    const result = run(source, input)
    if (Result.isFailure(result)) {
      return { _tag: "judged", executes: false, columns: 0, isCorrect: false, problem: result.failure }
    }
    columns.push(Table.columnShare(target.success, result.success))
    isCorrect &&= Table.areEqual(target.success, result.success, Table.orderOf(gold, target.success.names))
  }
  return { _tag: "judged", executes: true, columns: Math.min(...columns), isCorrect }
}

const shownRow = (row: ReadonlyArray<SqlValue>): string =>
  `-- ${row.map((value) => String(valueOf(value)).slice(0, 60)).join(" | ")}`

/** The statements that create the tables, each with some of its rows. */
const describe = (source: Source, shown: number): string =>
  using(open(bytesOf(source)), (database) => {
    bounded(database)
    const tables = database.exec({
      sql: "select name, sql from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' and sql is not null",
      rowMode: "array",
      returnValue: "resultRows"
    })
    return tables
      .map(([name, sql]) => {
        const quoted = `"${String(valueOf(name ?? "")).replaceAll('"', '""')}"`
        const rows =
          shown === 0
            ? []
            : database.exec({
                sql: `select * from ${quoted} limit ${shown}`,
                rowMode: "array",
                returnValue: "resultRows"
              })
        return [`${String(valueOf(sql ?? ""))};`, ...rows.map(shownRow)].join("\n")
      })
      .join("\n\n")
  })

const answer = ({ databases, queries, shown }: Question): Verdict =>
  Result.match(
    Result.try({
      try: (): Verdict =>
        queries === undefined
          ? { _tag: "described", schema: describe(databases[0] ?? "", shown) }
          : judge(databases, queries.gold, queries.input),
      catch: reason
    }),
    { onSuccess: (verdict) => verdict, onFailure: (problem) => ({ _tag: "unusable", problem }) }
  )

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: Verdict | "ready") => parentPort?.postMessage(message)

parentPort?.on("message", (question: Question) => post(answer(question)))
post("ready")
