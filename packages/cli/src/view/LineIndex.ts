/**
 * An index of the groups in JSON Lines files, for looking at them: where each line is, what a list shows of it, and its
 * words.
 *
 * The index is a temporary database on disk (SQLite, with its full-text search), which the system removes with the
 * process; in memory are its page cache and one line at a time, whatever the size of the files. A file is first looked
 * through for its lines, which is quick; then its lines are read from the newest back. What a page shows is read at
 * once when it was not its turn yet, so the first page needs no waiting; searches find what has been read so far, and
 * tell how much has not.
 *
 * Files may grow while they are looked at. One that was replaced or shortened is looked at anew.
 *
 * Everything here computes at once and holds up whoever calls it: it is meant for a thread of its own (`IndexThread`).
 */
import type { RolloutFilter } from "@atropos/api/store/RolloutReader"
import * as RolloutText from "@atropos/api/rollout/RolloutText"
// Module by module: the thread that this runs in should not load all of core before it answers.
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import * as SavedGroup from "@atropos/core/service/SavedGroup"
import * as ScoredGroup from "@atropos/core/ScoredGroup"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import * as LineFile from "./LineFile.ts"

/** What a list shows of a group. */
export interface IndexedRow {
  /** The line's number. */
  readonly number: number
  readonly sequences: number
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  readonly envId: number | null
  readonly policyStep: number | null
  readonly preview: string | null
  /** When the file was last written, as of the reading. */
  readonly at: number
}

/** `before` is a line's number. */
export type IndexFilter = Pick<
  RolloutFilter,
  "environment" | "stepFrom" | "stepTo" | "scoreFrom" | "scoreTo" | "text"
> & {
  readonly before?: number
  readonly limit: number
}

export interface IndexedPage {
  readonly rows: ReadonlyArray<IndexedRow>
  readonly next: number | null
  readonly total: number | null
  readonly unindexed: number | null
}

/** What there is to tell of lines, each with its file and number. */
export interface News {
  /** Lines that are no group. */
  readonly faults: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

export interface LineIndex {
  /** Looks for new lines for some milliseconds: in which files there were any, and whether there may be more. */
  readonly scan: (millis: number) => { readonly grown: ReadonlyArray<number>; readonly isDone: boolean }
  /** Reads lines for some milliseconds; false when all are read. */
  readonly read: (millis: number) => boolean
  readonly page: (file: number, filter: IndexFilter) => IndexedPage
  /** The group of a line, packed; undefined where the line is none. */
  readonly group: (
    file: number,
    number: number
  ) => { readonly row: IndexedRow; readonly packed: Uint8Array } | undefined
  /** Groups of a file that are known so far. */
  readonly size: (file: number) => number
  /** Since the last call. */
  readonly news: () => News
  readonly close: () => void
}

/** Files and lines in one number: room for 8000 files of 10^12 lines. */
const linesPerFile = 2 ** 40
/** Between the messages of a group, so that no phrase goes across. */
const separator = " \uE000 "

const schema = `
  create table line (
    id integer primary key, start integer not null, bytes integer not null, state integer not null,
    sequences integer, tokens integer, scores text, mean real, env_id integer, policy_step integer, preview text, at integer
  );
  create index unread on line (id) where state = 0;
  create virtual table words using fts5(body, content='', contentless_delete=1, prefix='1 2 3', tokenize='ascii');
`
const unread = 0
const isGroup = 1
const isNone = 2

interface LineRecord {
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
}

/** The search for some words: every term, each as its own words, the last of them as a beginning unless it is whole. */
const matchOf = (query: RolloutText.Query): string =>
  query.map(({ isWhole, words }) => `"${words.join(" ")}"${isWhole ? "" : " *"}`).join(" AND ")

/** The oldest policy of a group's sequences, null where none is known. */
const oldest = (versions: ScoredGroup.ScoredGroup["policyVersions"]): number | null =>
  (versions ?? []).reduce(
    (found, version) => (found === null || (version !== null && version < found) ? version : found),
    null
  )

/** Steps until there are no more (false), or the time is over (true). */
const untilLate = (millis: number, step: () => boolean): boolean => {
  const end = performance.now() + millis
  while (step()) if (performance.now() >= end) return true
  return false
}

export const open = (paths: ReadonlyArray<string>): LineIndex => {
  // No name: a file of its own, gone with the connection.
  const database = new DatabaseSync("")
  database.exec(
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -16384; pragma temp_store = file"
  )
  database.exec(schema)
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, known)
    return known
  }
  // The columns are those of the table.
  const records = (sql: string, ...values: ReadonlyArray<string | number>) =>
    prepared(sql).all(...values) as unknown as ReadonlyArray<LineRecord>
  const count = (sql: string, ...values: ReadonlyArray<string | number>): number =>
    Number(prepared(sql).get(...values)?.["n"] ?? 0)

  let faults: Array<string> = []
  let notes: Array<string> = []
  const unknownFields = SavedGroup.unknownFields()
  const decoder = new TextDecoder()
  const isGroupWhole = (bytes: Uint8Array): boolean => "success" in SavedGroup.parse(decoder.decode(bytes))
  const files = paths.map((path) => LineFile.open(path, isGroupWhole))

  const transaction = <A>(work: () => A): A => {
    database.exec("begin")
    const done = work()
    database.exec("commit")
    return done
  }

  /** Ids of a file's lines: above the first, below the second. */
  const rangeOf = (file: number): readonly [number, number] => [file * linesPerFile, (file + 1) * linesPerFile]

  const forget = (file: number): void => {
    const range = rangeOf(file)
    prepared("delete from words where rowid in (select id from line where id > ? and id < ? and state = 1)").run(
      ...range
    )
    prepared("delete from line where id > ? and id < ?").run(...range)
  }

  /** Writes down the lines of the next part of a file; whether there were any, and whether there may be more. */
  const scanPart = (file: number) => {
    const { hasMore, isAnew, lines } = files[file]!.next()
    if (isAnew) forget(file)
    const insert = prepared("insert into line (id, start, bytes, state) values (?, ?, ?, ?)")
    const [first] = rangeOf(file)
    for (const { bytes, number, start } of lines)
      insert.run(first + number, start, bytes, bytes === 0 ? isNone : unread)
    const abandoned = files[file]!.abandoned()
    if (abandoned !== undefined) {
      notes.push(`${files[file]!.path}, line ${abandoned}: has no end: it was cut off, or is still being written`)
    }
    return { hasMore, hasNews: isAnew || lines.length > 0 }
  }

  /** Reads a line and writes down what lists and searches want of it. */
  const readLine = ({ bytes, id, start }: Pick<LineRecord, "id" | "start" | "bytes">): void => {
    const file = files[Math.floor(id / linesPerFile)]!
    const none = (problem: string | undefined): void => {
      if (problem !== undefined) faults.push(`${file.path}, line ${id % linesPerFile}: ${problem}`)
      prepared("update line set state = 2 where id = ?").run(id)
    }
    if (bytes > LineFile.maxLineBytes) return none(`has ${bytes} bytes; the limit is ${LineFile.maxLineBytes}`)
    const text = decoder.decode(file.bytes(start, bytes))
    if (text.trim() === "") return none(undefined)
    const parsed = SavedGroup.parse(text)
    if (!("success" in parsed)) return none(parsed.failure)
    const { group, unknown } = parsed.success
    const told = unknownFields(file.path, { line: id % linesPerFile, unknown })
    if (told !== undefined) notes.push(told)
    const scores = Array.from(group.scores)
    const { body, preview } = RolloutText.ofMessages(group.messages, group.masks)
    prepared(
      `update line set state = 1, sequences = ?, tokens = ?, scores = ?, mean = ?, env_id = ?, policy_step = ?, preview = ?, at = ?
       where id = ?`
    ).run(
      ScoredGroup.size(group),
      ScoredGroup.tokenCount(group),
      JSON.stringify(scores),
      scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length,
      group.envId ?? null,
      oldest(group.policyVersions),
      preview,
      file.writtenAt(),
      id
    )
    if (body !== "") prepared("insert into words (rowid, body) values (?, ?)").run(id, body.replaceAll("\n", separator))
  }

  const toRow = ({ at, env_id, id, policy_step, preview, scores, sequences, tokens }: LineRecord): IndexedRow => ({
    number: id % linesPerFile,
    sequences,
    tokens,
    // Written above.
    scores: JSON.parse(scores) as ReadonlyArray<number>,
    envId: env_id,
    policyStep: policy_step,
    preview,
    at
  })

  /** The newest lines below a number, read where they were not. */
  const newest = (first: number, below: number, limit: number): ReadonlyArray<LineRecord> => {
    const found: Array<LineRecord> = []
    let top = below
    while (found.length < limit) {
      const next = records(
        "select * from line where id > ? and id < ? and state < 2 order by id desc limit ?",
        first,
        top,
        limit - found.length
      )
      if (next.length === 0) break
      top = next.at(-1)!.id
      const unseen = next.filter(({ state }) => state === unread)
      if (unseen.length > 0) transaction(() => unseen.forEach(readLine))
      for (const record of next) {
        if (record.state === isGroup) found.push(record)
        else found.push(...records("select * from line where id = ? and state = 1", record.id))
      }
    }
    return found
  }

  const searched = (first: number, below: number, filter: IndexFilter) => {
    const { environment, limit, scoreFrom, scoreTo, stepFrom, stepTo, text } = filter
    // Lines of a file know neither.
    const isNowhere = environment !== undefined || stepFrom !== undefined || stepTo !== undefined
    const conditions = ["line.id > ?", "line.id < ?", "state = 1", ...(isNowhere ? ["false"] : [])]
    const values: Array<string | number> = []
    if (scoreFrom !== undefined) {
      conditions.push("mean >= ?")
      values.push(scoreFrom)
    }
    if (scoreTo !== undefined) {
      conditions.push("mean <= ?")
      values.push(scoreTo)
    }
    let from = "line"
    if (text !== undefined) {
      from = "words join line on line.id = words.rowid"
      conditions.push("words match ?", "words.rowid > ?")
      values.push(matchOf(text), first)
    }
    const where = `from ${from} where ${conditions.join(" and ")}`
    const order = text === undefined ? "line.id" : "words.rowid"
    return {
      rows: records(`select line.* ${where} order by ${order} desc limit ?`, first, below, ...values, limit),
      total: () => count(`select count(*) as n ${where}`, first, below, ...values)
    }
  }

  return {
    scan: (millis) => {
      const grown = new Set<number>()
      const isLate = transaction(() =>
        untilLate(millis, () => {
          const parts = files.map((_, file) => scanPart(file))
          parts.forEach(({ hasNews }, file) => {
            if (hasNews) grown.add(file)
          })
          return parts.some(({ hasMore }) => hasMore)
        })
      )
      return { grown: [...grown], isDone: !isLate }
    },
    read: (millis) =>
      transaction(() =>
        untilLate(millis, () => {
          const [next] = records("select id, start, bytes from line where state = 0 order by id desc limit 1")
          if (next !== undefined) readLine(next)
          return next !== undefined
        })
      ),
    page: (index, filter) => {
      const [first, end] = rangeOf(index)
      const below = filter.before === undefined ? end : first + filter.before
      const { environment, limit, scoreFrom, scoreTo, stepFrom, stepTo, text } = filter
      const isFiltered = [environment, scoreFrom, scoreTo, stepFrom, stepTo, text].some((one) => one !== undefined)
      // One more than asked for tells whether there is another page.
      const wanted = { ...filter, limit: limit + 1 }
      const { rows, total } = isFiltered
        ? searched(first, below, wanted)
        : {
            rows: newest(first, below, wanted.limit),
            total: () => count("select count(*) as n from line where id > ? and id < ? and state < 2", first, end)
          }
      const shown = rows.slice(0, limit)
      return {
        rows: shown.map(toRow),
        next: rows.length > limit ? shown.at(-1)!.id - first : null,
        total: filter.before === undefined ? total() : null,
        unindexed:
          filter.before === undefined
            ? count("select count(*) as n from line where id > ? and id < ? and state = 0", first, end)
            : null
      }
    },
    group: (index, number) => {
      const [first] = rangeOf(index)
      const [record] = newest(first, first + number + 1, 1)
      if (record === undefined || record.id !== first + number) return undefined
      const parsed = SavedGroup.parse(decoder.decode(files[index]!.bytes(record.start, record.bytes)))
      return "success" in parsed ? { row: toRow(record), packed: PackedGroup.encode(parsed.success.group) } : undefined
    },
    size: (index) => count("select count(*) as n from line where id > ? and id < ? and state < 2", ...rangeOf(index)),
    news: () => {
      const all = { faults, notes }
      faults = []
      notes = []
      return all
    },
    close: () => {
      for (const file of files) file.close()
      database.close()
    }
  }
}
