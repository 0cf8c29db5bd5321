/** Queries pages of an index: the newest lines of a file, reading them if necessary, or those matching a filter. */
import type * as RolloutText from "@atropos/api/rollout/RolloutText"
import type { RolloutFilter } from "@atropos/api/store/RolloutReader"
import type { TrajectoryApi } from "@atropos/core"
import type { Sort } from "@atropos/core/service/api/RolloutOrder"
import type { LineReader } from "./LineReader.ts"
import * as LineTable from "./LineTable.ts"

/** The list row of a group. */
export interface IndexedRow {
  readonly number: number
  readonly sequences: number
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  readonly envId: number | null
  readonly policyStep: number | null
  readonly preview: string | null
  /** Modification time of the file when the line was read. */
  readonly at: number
  readonly figures: TrajectoryApi.GroupFigures
}

/** `before` is a line number; with `sort`, the number of rows before the page. */
export type IndexFilter = Omit<RolloutFilter, "before"> & { readonly before?: number }

export interface IndexedPage {
  readonly rows: ReadonlyArray<IndexedRow>
  readonly next: number | null
  readonly total: number | null
  readonly unindexed: number | null
}

/** The full-text query: every term as a phrase, its last word as a prefix unless the term is whole. */
const matchOf = (query: RolloutText.Query): string =>
  query.map(({ isWhole, words }) => `"${words.join(" ")}"${isWhole ? "" : " *"}`).join(" AND ")

export const toRow = (record: LineTable.LineRecord): IndexedRow => ({
  number: LineTable.numberOf(record.id),
  sequences: record.sequences,
  tokens: record.tokens,
  // Written by the reader.
  scores: JSON.parse(record.scores) as ReadonlyArray<number>,
  envId: record.env_id,
  policyStep: record.policy_step,
  preview: record.preview,
  at: record.at,
  figures: {
    prompt: record.prompt,
    length: record.length,
    longestBest: record.longest_best,
    truncated: record.truncated,
    toolErrors: record.tool_errors,
    surprise: record.surprise,
    surpriseBest: record.surprise_best,
    // Written by the reader.
    components: JSON.parse(record.components) as TrajectoryApi.GroupFigures["components"],
    lengths: JSON.parse(record.lengths) as ReadonlyArray<number>,
    answers: JSON.parse(record.answers) as ReadonlyArray<string>,
    ...(record.expected !== null && { expected: record.expected })
  }
})

/** The newest lines between two ids, read on demand. */
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

/** Sort keys; lines are all consumed and have no step. */
const keys: { readonly [S in Exclude<Sort, "component">]: string } = {
  mean: "mean",
  best: "best",
  disagreement: "disagreement",
  deviation: "deviation",
  length: "length",
  longest_best: "longest_best",
  truncated: "truncated",
  tool_errors: "tool_errors",
  staleness: "null",
  surprise: "surprise",
  surprise_best: "surprise_best",
  state: "null",
  item: "item"
}

const component = "(select value from json_each(line.components) where key = ?)"

/** A condition with its values; empty if a value is undefined. */
const condition = (sql: string, ...values: ReadonlyArray<string | number | undefined>) =>
  values.every((value) => value !== undefined) ? [{ sql, values }] : []

/** The line number determines the order in the file. */
const newlySolved = `line.id in (
  select id from (
    select id, best, max(best) over (
      partition by item order by id rows between unbounded preceding and 1 preceding
    ) as before
    from line where id > ? and id < ? and state = 1 and item is not null
  ) where best > 0 and before <= 0
)`

/** Requires a rollout with a value within the bounds; advantages are not known for files. */
const withValue = ({ value, valueBelow, valueFrom, valueTo }: IndexFilter) => {
  if (value === undefined) return []
  if (value === "advantage") return condition("false")
  const bounds = [
    ...condition("value >= ?", valueFrom),
    ...condition("value < ?", valueBelow),
    ...condition("value <= ?", valueTo)
  ]
  const column = value === "score" ? "scores" : "lengths"
  const sql = ["true", ...bounds.map(({ sql }) => sql)].join(" and ")
  return condition(
    `exists (select 1 from json_each(line.${column}) where ${sql})`,
    ...bounds.flatMap(({ values }) => values)
  )
}

const conditionsOf = (above: number, below: number, end: number, filter: IndexFilter) => {
  const { environment, scoreFrom, scoreTo, state, stepFrom, stepTo, text } = filter
  // Lines of files have none of these.
  const isNowhere =
    [environment, stepFrom, stepTo, filter.stalenessFrom, filter.stalenessTo].some((value) => value !== undefined) ||
    (state ?? "consumed") !== "consumed"
  return [
    ...condition("line.id > ? and line.id < ? and line.state = 1", above, below),
    ...(isNowhere ? condition("false") : []),
    ...condition("mean >= ?", scoreFrom),
    ...condition("mean <= ?", scoreTo),
    ...condition("best >= ?", filter.bestFrom),
    ...condition("best <= ?", filter.bestTo),
    ...condition("disagreement >= ?", filter.disagreementFrom),
    ...condition("disagreement <= ?", filter.disagreementTo),
    ...condition("deviation >= ?", filter.deviationFrom),
    ...condition("deviation <= ?", filter.deviationTo),
    ...condition("length >= ?", filter.lengthFrom),
    ...condition("length <= ?", filter.lengthTo),
    ...condition("(item = ? or prompt = ?)", filter.item, filter.item),
    ...condition(`${component} >= ?`, filter.component, filter.componentFrom),
    ...condition(`${component} <= ?`, filter.component, filter.componentTo),
    ...withValue(filter),
    ...(filter.truncated === undefined ? [] : condition("truncated > 0")),
    ...(filter.toolErrors === undefined ? [] : condition("tool_errors > 0")),
    ...(filter.newlySolved === undefined ? [] : condition(newlySolved, above, end)),
    ...(text === undefined ? [] : condition("words match ? and words.rowid > ?", matchOf(text), above))
  ]
}

/** The matching lines read so far, and their number. */
const search = (table: LineTable.LineTable, [above, end]: readonly [number, number], filter: IndexFilter) => {
  const { before, limit, sort, text } = filter
  const isSorted = sort !== undefined && (sort !== "component" || filter.component !== undefined)
  const below = isOrdered(filter) || before === undefined ? end : above + before
  const conditions = conditionsOf(above, below, end, filter)
  const values = conditions.flatMap(({ values }) => values)
  const from = text === undefined ? "line" : "words join line on line.id = words.rowid"
  const where = `from ${from} where ${conditions.map(({ sql }) => sql).join(" and ")}`
  const id = text === undefined ? "line.id" : "words.rowid"
  const ofComponent = isSorted && sort === "component" ? [filter.component!] : []
  const key = !isSorted
    ? ""
    : `${sort === "component" ? component : keys[sort]} ${filter.order === "ascending" ? "asc" : "desc"} nulls last,`
  const offset = isOrdered(filter) ? (before ?? 0) : 0
  return {
    rows: table.records(
      `select line.* ${where} order by ${key} ${id} desc limit ? offset ?`,
      ...values,
      ...ofComponent,
      limit,
      offset
    ),
    total: () => table.count(`select count(*) as n ${where}`, ...values)
  }
}

/** True if `before` counts rows instead of naming a line. */
const isOrdered = ({ sort }: IndexFilter): boolean => sort !== undefined

/** A page of a file's groups; only the first page, without `before`, counts them. */
export const page = (
  table: LineTable.LineTable,
  reader: LineReader,
  file: number,
  filter: IndexFilter
): IndexedPage => {
  const [above, end] = LineTable.rangeOf(file)
  const { before, limit, order: _, ...criteria } = filter
  const isFirst = before === undefined
  const isFiltered = Object.values(criteria).some((one) => one !== undefined)
  // One row more than a page, to detect a next page.
  const { rows, total } = isFiltered
    ? search(table, [above, end], { ...filter, limit: limit + 1 })
    : {
        rows: newest(table, reader, { above, below: isFirst ? end : above + before, limit: limit + 1 }),
        total: () => size(table, file)
      }
  const pageRows = rows.slice(0, limit)
  return {
    rows: pageRows.map(toRow),
    next: rows.length <= limit ? null : isOrdered(filter) ? (before ?? 0) + limit : pageRows.at(-1)!.id - above,
    total: isFirst ? total() : null,
    unindexed: isFirst
      ? table.count("select count(*) as n from line where id > ? and id < ? and state = 0", above, end)
      : null
  }
}

/** Number of groups of a file, including lines not read yet. */
export const size = (table: LineTable.LineTable, file: number): number =>
  table.count("select count(*) as n from line where id > ? and id < ? and state < 2", ...LineTable.rangeOf(file))
