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
// Module by module: the thread that this runs in should not load all of core before it answers.
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import * as LineReader from "./LineReader.ts"
import * as LineSearch from "./LineSearch.ts"
import * as LineTable from "./LineTable.ts"

export interface LineIndex {
  /** Looks for new lines for some milliseconds: in which files there were any, and whether there may be more. */
  readonly scan: (millis: number) => { readonly grown: ReadonlyArray<number>; readonly isDone: boolean }
  /** Reads lines for some milliseconds; false when all are read. */
  readonly read: (millis: number) => boolean
  readonly page: (file: number, filter: LineSearch.IndexFilter) => LineSearch.IndexedPage
  /** The group of a line, packed; undefined where the line is none. */
  readonly group: (
    file: number,
    number: number
  ) => { readonly row: LineSearch.IndexedRow; readonly packed: Uint8Array } | undefined
  /** Groups of a file that are known so far. */
  readonly size: (file: number) => number
  /** Since the last call. */
  readonly news: () => LineReader.News
  readonly close: () => void
}

/** Steps until there are no more (false), or the time is over (true). */
const untilLate = (millis: number, step: () => boolean): boolean => {
  const end = performance.now() + millis
  while (step()) if (performance.now() >= end) return true
  return false
}

export const open = (paths: ReadonlyArray<string>): LineIndex => {
  const table = LineTable.open()
  const reader = LineReader.make(table, paths)
  return {
    scan: (millis) => {
      const grown = new Set<number>()
      const isLate = table.transaction(() =>
        untilLate(millis, () => {
          const parts = paths.map((_path, file) => reader.scan(file))
          parts.forEach(({ hasNews }, file) => {
            if (hasNews) grown.add(file)
          })
          return parts.some(({ hasMore }) => hasMore)
        })
      )
      return { grown: [...grown], isDone: !isLate }
    },
    read: (millis) =>
      table.transaction(() =>
        untilLate(millis, () => {
          const [next] = table.records("select id, start, bytes from line where state = 0 order by id desc limit 1")
          if (next !== undefined) reader.read(next)
          return next !== undefined
        })
      ),
    page: (file, filter) => LineSearch.page(table, reader, file, filter),
    group: (file, number) => {
      const [above] = LineTable.rangeOf(file)
      const [record] = LineSearch.newest(table, reader, { above, below: above + number + 1, limit: 1 })
      if (record === undefined || record.id !== above + number) return undefined
      const group = reader.group(record)
      return group && { row: LineSearch.toRow(record), packed: PackedGroup.encode(group) }
    },
    size: (file) => LineSearch.size(table, file),
    news: reader.news,
    close: () => {
      reader.close()
      table.close()
    }
  }
}
