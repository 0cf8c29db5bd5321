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
import type { SampleHead } from "@atropos/core/evaluation/SampleHead"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import type { TrainedLogprobs } from "@atropos/core/TrainedLogprobs"
import * as LineReader from "./LineReader.ts"
import * as LineSearch from "./LineSearch.ts"
import * as LineTable from "./LineTable.ts"

export interface SamplePage {
  readonly samples: ReadonlyArray<SampleHead & { readonly number: number }>
  readonly next: number | null
  /** Of the whole file. */
  readonly total: number
}

export interface IndexedGroup {
  readonly row: LineSearch.IndexedRow
  readonly packed: Uint8Array
  readonly trained?: TrainedLogprobs
}

export interface LineIndex {
  /** Looks for new lines for some milliseconds: in which files there were any, and whether there may be more. */
  readonly scan: (millis: number) => { readonly grown: ReadonlyArray<number>; readonly isDone: boolean }
  /** Reads lines for some milliseconds; false when all are read. */
  readonly read: (millis: number) => boolean
  readonly page: (file: number, filter: LineSearch.IndexFilter) => LineSearch.IndexedPage
  /** The group of a line, packed, and what its trainer computed of it; undefined where the line is none. */
  readonly group: (file: number, number: number) => IndexedGroup | undefined
  /** Samples of evaluations among a file's lines, from a line on, in their order, as far as they have been read. */
  readonly samples: (file: number, page: { readonly from: number; readonly limit: number }) => SamplePage
  /** The whole of a sample. */
  readonly sample: (file: number, number: number) => unknown
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
      const saved = reader.group(record)
      if (saved === undefined) return undefined
      const { group, trained } = saved
      return { row: LineSearch.toRow(record), packed: PackedGroup.encode(group), ...(trained && { trained }) }
    },
    samples: (file, { from, limit }) => {
      const [above, below] = LineTable.rangeOf(file)
      const rows = table
        .prepared("select id, head from sample where id >= ? and id > ? and id < ? order by id limit ?")
        .all(above + from, above, below, limit + 1)
        // Written by the reader.
        .map(({ head, id }) => ({
          number: LineTable.numberOf(Number(id)),
          ...(JSON.parse(String(head)) as SampleHead)
        }))
      return {
        samples: rows.slice(0, limit),
        next: rows[limit]?.number ?? null,
        total: table.count("select count(*) as n from sample where id > ? and id < ?", above, below)
      }
    },
    sample: (file, number) => {
      const [above] = LineTable.rangeOf(file)
      const [record] = table.records("select * from line where id = ?", above + number)
      return record && reader.sample(record)
    },
    size: (file) => LineSearch.size(table, file),
    news: reader.news,
    close: () => {
      reader.close()
      table.close()
    }
  }
}
