/**
 * Writes a copy of a file in which some lines have other values. All other bytes are unchanged. The copy gets its name
 * once complete, and existing files are never overwritten.
 */
import { SavedGroup } from "@atropos/core"
import { Effect, FileSystem, Path } from "effect"
import { type CommandFailed, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import * as OutputLock from "../job/OutputLock.ts"

export interface Corrected {
  /** Changes values of the line at these bytes; lines must be given in order. */
  readonly line: (
    place: { readonly start: number; readonly end: number },
    values: { readonly [key: string]: unknown }
  ) => Effect.Effect<void, CommandFailed>
  /** Copies the rest and renames the file. */
  readonly finish: Effect.Effect<void, CommandFailed>
}

const piece = 1024 * 1024

export const open = Effect.fn("Corrected.open")(function* (from: string, to: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* OutputLock.hold(to)
  if (yield* fs.exists(to).pipe(Effect.mapError(cannot("access", to)))) {
    return yield* new UsageError({ message: `${to} already exists: give --write another path` })
  }
  yield* fs.makeDirectory(path.dirname(to), { recursive: true }).pipe(Effect.mapError(cannot("make", path.dirname(to))))
  const partial = `${to}.partial`
  const source = yield* fs.open(from, { flag: "r" }).pipe(Effect.mapError(cannot("read", from)))
  const target = yield* fs.open(partial, { flag: "w" }).pipe(Effect.mapError(cannot("write", partial)))
  // An incomplete copy is useless.
  yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(partial, { force: true })))
  let at = 0

  const read = Effect.fnUntraced(function* (start: number, length: number) {
    const bytes = new Uint8Array(length)
    let filled = 0
    yield* source.seek(BigInt(start), "start")
    while (filled < length) {
      const count = yield* source.read(bytes.subarray(filled))
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  })
  const copyTo = Effect.fnUntraced(function* (end: number) {
    while (at < end) {
      const bytes = yield* read(at, Math.min(piece, end - at))
      if (bytes.length === 0) return
      yield* target.writeAll(bytes)
      at += bytes.length
    }
  })
  return {
    line: Effect.fnUntraced(
      function* ({ end, start }, values) {
        yield* copyTo(start)
        yield* target.writeAll(SavedGroup.rewritten(yield* read(start, end - start), values))
        at = end
      },
      Effect.mapError(cannot("write", partial))
    ),
    finish: Effect.gen(function* () {
      const { size } = yield* source.stat
      yield* copyTo(Number(size))
      yield* target.sync
      yield* fs.rename(partial, to)
    }).pipe(Effect.mapError(cannot("write", to)))
  } satisfies Corrected
})
