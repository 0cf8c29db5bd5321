/**
 * Recovers what an earlier process left in a spool's folder: takes over its segments; renames those of another lineage
 * or with a torn beginning, with a warning.
 */
import { Effect, FileSystem, Path } from "effect"
import { damaged, failing } from "./SpoolError.ts"
import * as SpoolRecord from "./SpoolRecord.ts"

/** A file of the spool, with the size appended to it. */
export interface Segment {
  readonly path: string
  bytes: number
  records: number
}

/** Items of spooled groups; `closes`: nothing else of the item was outstanding. */
export type Recovered = ReadonlyArray<{ readonly index: number; readonly closes: boolean }>

export const extension = ".spool"

/** The payloads of a segment: its lineage and its records. */
export const read = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const content = yield* Effect.mapError(fs.readFile(file), failing(file))
  const [lineage, ...records] = SpoolRecord.payloadsOf(content)
  return { bytes: content.byteLength, lineage, records }
})

/** Segments, oldest first, their contents, and the highest number in the folder's file names. */
export const recover = Effect.fnUntraced(function* (directory: string, lineage: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const segments: Array<Segment> = []
  const recovered: Array<Recovered[number]> = []
  let sequence = 0
  const moveAside = (file: string, suffix: string, warning: string) =>
    Effect.mapError(fs.rename(file, `${file}.${suffix}`), failing(file)).pipe(
      Effect.andThen(Effect.logWarning(warning, { file: `${file}.${suffix}` }))
    )

  const names = yield* Effect.mapError(fs.readDirectory(directory), failing(directory))
  for (const name of names.filter((name) => name.endsWith(extension)).sort()) {
    const file = path.join(directory, name)
    sequence = Math.max(sequence, Number.parseInt(name, 10) || 0)
    const segment = yield* read(file)
    if (segment.lineage === undefined && segment.bytes === 0) {
      // A crash between creating the file and writing to it: nothing in it was ever acknowledged.
      yield* Effect.mapError(fs.remove(file, { force: true }), failing(file))
      continue
    }
    if (segment.lineage === undefined) {
      yield* moveAside(file, "damaged", "moved an unreadable spool file aside; its items will be rolled out again")
      continue
    }
    if ((yield* SpoolRecord.lineageOf(segment.lineage, file)) !== lineage) {
      yield* moveAside(file, "stale", "moved spooled groups of another run aside")
      continue
    }
    for (const record of segment.records) {
      const { closes, index } = yield* SpoolRecord.headOf(record, damaged(file))
      recovered.push({ index, closes })
    }
    segments.push({ path: file, bytes: segment.bytes, records: segment.records.length })
  }
  return { segments, recovered, sequence }
})
