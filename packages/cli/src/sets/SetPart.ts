/**
 * Collects one split of a data set in `FILE.partial` as JSON Lines, which is finally renamed, or converted to parquet.
 * Appending to a file writes a new one with both contents.
 */
import { Effect, FileSystem, Option, Stream } from "effect"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import type { MadeRow, Split } from "./Builder.ts"
import type { Row } from "./Layout.ts"
import * as ParquetFile from "./ParquetFile.ts"
import * as RowFile from "./RowFile.ts"
import * as SetCheckpoint from "./SetCheckpoint.ts"

export interface SetPart {
  readonly split: Split
  readonly final: string
  readonly partial: string
  readonly file: FileSystem.File
  readonly base: number | null
  bytes: number
  rows: number
  whole: number | null
}

export interface WrittenFile {
  readonly split: Split
  readonly path: string
  readonly rows: number
  readonly bytes: number
}

export interface Format {
  readonly out: string
  readonly container: RowFile.Container
  readonly columns: ReadonlyArray<string>
  readonly onRow?: (row: Row) => void
}

const encoder = new TextEncoder()

export const partialOf = (file: string): string => `${file}.partial`

const sizeOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(file).pipe(Effect.mapError(cannot("access", file))))) return null
  return Number((yield* fs.stat(file).pipe(Effect.mapError(cannot("access", file)))).size)
})

/** Reopens a part of an earlier run at its checkpoint. */
export const reopen = Effect.fn("SetPart.reopen")(function* (
  { columns, onRow, out }: Format,
  split: Split,
  final: string,
  saved: SetCheckpoint.Part
) {
  const fs = yield* FileSystem.FileSystem
  const partial = partialOf(final)
  const file = yield* fs.open(partial, { flag: "r+" }).pipe(Effect.mapError(cannot("open", partial)))
  const { size } = yield* file.stat.pipe(Effect.mapError(cannot("access", partial)))
  if (Number(size) < saved.bytes) {
    return yield* new UsageError({
      message: `${partial} has ${size} bytes, but ${SetCheckpoint.fileOf(out)} states ${saved.bytes}: it was truncated. Use --no-resume to start over`
    })
  }
  yield* file.truncate(saved.bytes).pipe(Effect.mapError(cannot("shorten", partial)))
  yield* file.seek(BigInt(saved.bytes), "start").pipe(Effect.mapError(cannot("write", partial)))
  if (onRow !== undefined) {
    yield* Stream.runForEach(RowFile.read(partial, "jsonl", columns), ({ row }) => Effect.sync(() => onRow(row)))
  }
  return { split, final, partial, file, ...saved } satisfies SetPart
})

/** Creates a part, with the rows of the file it appends to. */
export const create = Effect.fn("SetPart.create")(function* (
  { columns, container, onRow }: Format,
  split: Split,
  final: string
) {
  const fs = yield* FileSystem.FileSystem
  const partial = partialOf(final)
  const base = yield* sizeOf(final)
  const file = yield* fs.open(partial, { flag: "w" }).pipe(Effect.mapError(cannot("open", partial)))
  const part: SetPart = { split, final, partial, file, base, bytes: 0, rows: 0, whole: null }
  if (base === null || base === 0) return part
  yield* Stream.runForEachArray(RowFile.read(final, container, columns), (some) => {
    const content = encoder.encode(some.map(({ text }) => `${text}\n`).join(""))
    part.bytes += content.length
    part.rows += some.length
    for (const { row } of some) onRow?.(row)
    return file.writeAll(content).pipe(Effect.mapError(cannot("write", partial)))
  })
  return part
})

export const append = Effect.fnUntraced(function* (part: SetPart, rows: ReadonlyArray<MadeRow>) {
  const own = rows.filter(({ split }) => split === part.split)
  if (own.length === 0) return
  const content = encoder.encode(own.map(({ row }) => `${RowFile.lineOf(row)}\n`).join(""))
  yield* part.file.writeAll(content).pipe(Effect.mapError(cannot("write", part.partial)))
  part.bytes += content.length
  part.rows += own.length
})

/**
 * Renames the part to its final name; none if it has no rows. `save` writes the checkpoint immediately before, so
 * that a rename followed by a crash is not mistaken for another process's file.
 */
export const finish = Effect.fn("SetPart.finish")(function* <E, R>(
  { columns, container }: Format,
  part: SetPart,
  save: Effect.Effect<void, E, R>
) {
  const fs = yield* FileSystem.FileSystem
  const { base, file, final, partial, rows, split } = part
  const remove = fs.remove(partial, { force: true }).pipe(Effect.mapError(cannot("remove", partial)))
  yield* file.sync.pipe(Effect.mapError(cannot("write", partial)))
  if (rows === 0) {
    yield* remove
    return Option.none<WrittenFile>()
  }
  const size = yield* sizeOf(final)
  const isThere = part.whole !== null && size === part.whole
  if (!isThere) {
    if (size !== base) {
      return yield* new CommandFailed({
        message: `${final} was ${base === null ? "created" : "changed"} by another program in the meantime: the rows are in ${partial}, and nothing was overwritten`
      })
    }
    let whole = partial
    if (container === "parquet") {
      whole = `${final}.new`
      yield* ParquetFile.write({ from: partial, to: whole, columns })
    }
    part.whole = yield* sizeOf(whole)
    yield* save
    yield* fs.rename(whole, final).pipe(Effect.mapError(cannot("write", final)))
  }
  yield* remove
  return Option.some<WrittenFile>({ split, path: final, rows, bytes: part.whole ?? 0 })
})
