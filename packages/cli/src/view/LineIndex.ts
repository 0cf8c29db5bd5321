/**
 * Indexes the groups in JSON Lines files for the viewer in a temporary SQLite database on disk with full-text search,
 * which the system removes with the process; memory holds its page cache and one line at a time, regardless of file
 * size.
 *
 * A file is first scanned for its lines, which is fast; then its lines are read from the newest back, those of a page
 * on demand. Searches cover the lines read so far, and report how many are not. A replaced or truncated file is scanned
 * again. All calls are synchronous and block the caller: use a separate thread (`IndexThread`).
 */
// Imported individually: this thread should not load all of core before it answers.
import type { SampleHead } from "@atropos/core/evaluation/SampleHead"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import type { TrainedLogprobs } from "@atropos/core/service/TrainedLogprobs"
import * as LineReader from "./LineReader.ts"
import * as LineSearch from "./LineSearch.ts"
import * as LineTable from "./LineTable.ts"

export interface SamplePage {
  readonly samples: ReadonlyArray<SampleHead & { readonly number: number }>
  readonly next: number | null
  readonly total: number
}

export interface IndexedGroup {
  readonly row: LineSearch.IndexedRow
  readonly packed: Uint8Array
  readonly trained?: TrainedLogprobs
}

export interface LineIndex {
  /** Scans for new lines for some milliseconds; returns the files with new ones, and whether there may be more. */
  readonly scan: (millis: number) => { readonly grown: ReadonlyArray<number>; readonly isDone: boolean }
  /** Reads lines for some milliseconds; false when all are read. */
  readonly read: (millis: number) => boolean
  readonly page: (file: number, filter: LineSearch.IndexFilter) => LineSearch.IndexedPage
  /** The packed group of a line with its trainer's logprobs; undefined if the line is not a group. */
  readonly group: (file: number, number: number) => IndexedGroup | undefined
  /** Evaluation samples of a file from a line on, in order, as far as read. */
  readonly samples: (file: number, page: { readonly from: number; readonly limit: number }) => SamplePage
  readonly sample: (file: number, number: number) => unknown
  /** Number of groups in a file known so far. */
  readonly size: (file: number) => number
  readonly news: () => LineReader.News
  readonly close: () => void
}

/** Steps until done (false), or until the time is over (true). */
const runFor = (millis: number, step: () => boolean): boolean => {
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
        runFor(millis, () => {
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
        runFor(millis, () => {
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
