/** Pages of an index: the newest lines of a file, read where they were not yet, or those that a filter finds. */
import type * as RolloutText from "@atropos/api/rollout/RolloutText"
import type { RolloutFilter } from "@atropos/api/store/RolloutReader"
import type { LineReader } from "./LineReader.ts"
import * as LineTable from "./LineTable.ts"

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

/** The search for some words: every term, each as its own words, the last of them as a beginning unless it is whole. */
const matchOf = (query: RolloutText.Query): string =>
  query.map(({ isWhole, words }) => `"${words.join(" ")}"${isWhole ? "" : " *"}`).join(" AND ")

export const toRow = (record: LineTable.LineRecord): IndexedRow => ({
  number: LineTable.numberOf(record.id),
  sequences: record.sequences,
  tokens: record.tokens,
  // The reader wrote them.
  scores: JSON.parse(record.scores) as ReadonlyArray<number>,
  envId: record.env_id,
  policyStep: record.policy_step,
  preview: record.preview,
  at: record.at
})

/** The newest lines between two ids, read where they were not. */
export const newest = (
  table: LineTable.LineTable,
  reader: LineReader,
  { above, below, limit }: { readonly above: number; readonly below: number; readonly limit: number }
): ReadonlyArray<LineTable.LineRecord> => {
  const rows: Array<LineTable.LineRecord> = []
  let top = below
  while (rows.length < limit) {
    const next = table.records(
      "select * from line where id > ? and id < ? and state < 2 order by id desc limit ?",
      above,
      top,
      limit - rows.length
    )
    if (next.length === 0) break
    top = next.at(-1)!.id
    const unseen = next.filter(({ state }) => state === LineTable.unread)
    if (unseen.length > 0) table.transaction(() => unseen.forEach(reader.read))
    for (const record of next) {
      if (record.state === LineTable.isGroup) rows.push(record)
      else rows.push(...table.records("select * from line where id = ? and state = 1", record.id))
    }
  }
  return rows
}

/** Lines read so far that a filter finds, and how many there are. */
const search = (table: LineTable.LineTable, above: number, below: number, filter: IndexFilter) => {
  const { environment, limit, scoreFrom, scoreTo, stepFrom, stepTo, text } = filter
  // Lines of a file have neither.
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
    values.push(matchOf(text), above)
  }
  const where = `from ${from} where ${conditions.join(" and ")}`
  const order = text === undefined ? "line.id" : "words.rowid"
  return {
    rows: table.records(`select line.* ${where} order by ${order} desc limit ?`, above, below, ...values, limit),
    total: () => table.count(`select count(*) as n ${where}`, above, below, ...values)
  }
}

/** A page of a file's groups; only the first one, without `before`, counts them. */
export const page = (
  table: LineTable.LineTable,
  reader: LineReader,
  file: number,
  filter: IndexFilter
): IndexedPage => {
  const [above, end] = LineTable.rangeOf(file)
  const isFirst = filter.before === undefined
  const below = filter.before === undefined ? end : above + filter.before
  const { environment, limit, scoreFrom, scoreTo, stepFrom, stepTo, text } = filter
  const isFiltered = [environment, scoreFrom, scoreTo, stepFrom, stepTo, text].some((one) => one !== undefined)
  // One more than a page has: whether there is another page.
  const { rows, total } = isFiltered
    ? search(table, above, below, { ...filter, limit: limit + 1 })
    : { rows: newest(table, reader, { above, below, limit: limit + 1 }), total: () => size(table, file) }
  const shown = rows.slice(0, limit)
  return {
    rows: shown.map(toRow),
    next: rows.length > limit ? shown.at(-1)!.id - above : null,
    total: isFirst ? total() : null,
    unindexed: isFirst
      ? table.count("select count(*) as n from line where id > ? and id < ? and state = 0", above, end)
      : null
  }
}

/** Groups of a file, and lines that may be ones. */
export const size = (table: LineTable.LineTable, file: number): number =>
  table.count("select count(*) as n from line where id > ? and id < ? and state < 2", ...LineTable.rangeOf(file))
