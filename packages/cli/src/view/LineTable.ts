/**
 * Stores an index's lines and the words of their groups in a temporary SQLite database on disk with full-text search,
 * which the system removes with the process. Lines of all files share one table: an id combines the file's index and
 * the line number.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite"

/** Id layout: room for 8000 files of 10^12 lines. */
const linesPerFile = 2 ** 40

const schema = `
  create table line (
    id integer primary key, start integer not null, bytes integer not null, state integer not null,
    sequences integer, tokens integer, scores text, mean real, env_id integer, policy_step integer, preview text, at integer,
    best real, disagreement real, deviation real, item text, prompt text, length real, longest_best real, truncated real,
    tool_errors integer, surprise real, surprise_best real, components text, lengths text, answers text, expected text
  );
  create table sample (id integer primary key, head text not null);
  create index item on line (item) where item is not null;
  create index unread on line (id) where state = 0;
  create virtual table words using fts5(body, content='', contentless_delete=1, prefix='1 2 3', tokenize='ascii');
`

/** Values of a line's `state`; SQL statements in these modules use the numbers. */
export const unread = 0
export const isGroup = 1
export const isNotGroup = 2

export interface LineRecord {
  readonly id: number
  readonly start: number
  readonly bytes: number
  readonly state: number
  readonly sequences: number
  readonly tokens: number
  readonly scores: string
  readonly env_id: number | null
  readonly policy_step: number | null
  readonly preview: string | null
  readonly at: number
  readonly item: string | null
  readonly prompt: string | null
  readonly length: number
  readonly longest_best: number
  readonly truncated: number
  readonly tool_errors: number
  readonly surprise: number | null
  readonly surprise_best: number | null
  /** JSON. */
  readonly components: string
  readonly lengths: string
  readonly answers: string
  readonly expected: string | null
}

export interface LineTable {
  readonly prepared: (sql: string) => StatementSync
  readonly records: (sql: string, ...values: ReadonlyArray<string | number>) => ReadonlyArray<LineRecord>
  /** The column `n` of the only row. */
  readonly count: (sql: string, ...values: ReadonlyArray<string | number>) => number
  readonly transaction: <A>(work: () => A) => A
  readonly close: () => void
}

/** Id range of a file's lines, both ends exclusive. */
export const rangeOf = (file: number): readonly [number, number] => [file * linesPerFile, (file + 1) * linesPerFile]

export const fileOf = (id: number): number => Math.floor(id / linesPerFile)

export const numberOf = (id: number): number => id % linesPerFile

export const open = (): LineTable => {
  // Without a name: a temporary file, removed with the connection.
  const database = new DatabaseSync("")
  database.exec(
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -16384; pragma temp_store = file"
  )
  database.exec(schema)
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    prepared,
    // The columns match the table.
    records: (sql, ...values) => prepared(sql).all(...values) as unknown as ReadonlyArray<LineRecord>,
    count: (sql, ...values) => Number(prepared(sql).get(...values)?.["n"] ?? 0),
    transaction: (work) => {
      database.exec("begin")
      const result = work()
      database.exec("commit")
      return result
    },
    close: () => database.close()
  }
}
