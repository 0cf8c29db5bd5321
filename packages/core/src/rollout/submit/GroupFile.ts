/**
 * Writes accepted groups as JSON Lines, one group per line in the original's wire form, for viewers and data sets.
 *
 * An existing file is never modified: `groups.jsonl` becomes `groups_1.jsonl`, then `_2`, as in the original; missing
 * parent folders are created. Each line is written in one call, so a reader never sees a partial line after a complete
 * one.
 */
import { Array, Effect, FileSystem, Path, Predicate, Schema, type Scope } from "effect"
import * as SameFile from "../../base/system/SameFile.ts"
import * as Reason from "../../base/Reason.ts"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import * as SavedGroup from "../../service/SavedGroup.ts"

/** The file for groups cannot be created or written. */
export class GroupFileError extends Schema.TaggedError<GroupFileError>()("GroupFileError", {
  path: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface GroupFile {
  readonly path: string
  readonly write: (groups: ReadonlyArray<ScoredGroup>) => Effect.Effect<void, GroupFileError>
}

const isTaken = Predicate.isTagged("AlreadyExists")

const encoder = new TextEncoder()

/** Opens the first free variant of `target`; closed with the scope. */
export const open = Effect.fn("GroupFile.open")(function* (target: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failing = (file: string) => (cause: unknown) =>
    new GroupFileError({
      path: file,
      message: `cannot write groups to ${file}: ${Reason.of(cause)}`,
      cause
    })
  yield* fs.makeDirectory(path.dirname(target), { recursive: true }).pipe(Effect.mapError(failing(target)))
  const { dir, ext, name } = path.parse(target)
  const candidate = (number: number): string => (number === 0 ? target : path.join(dir, `${name}_${number}${ext}`))
  // "ax" fails if the file exists: two programs that start together get different files.
  const claim = (number: number): Effect.Effect<readonly [string, FileSystem.File], GroupFileError, Scope.Scope> => {
    const file = candidate(number)
    return fs.open(file, { flag: "ax" }).pipe(
      Effect.map((opened) => [file, opened] as const),
      Effect.catch((error) => (isTaken(error.reason) ? claim(number + 1) : Effect.fail(failing(file)(error))))
    )
  }
  const [file, opened] = yield* claim(0)
  const isThere = Effect.provideService(SameFile.isAt(opened, file), FileSystem.FileSystem, fs)
  const saved: GroupFile = {
    path: file,
    write: Effect.fnUntraced(function* (groups) {
      const [lines, unreadable] = Array.partition(groups, SavedGroup.encodeReadable)
      if (lines.length > 0) {
        const text = lines.map((line) => `${line}\n`).join("")
        yield* Effect.mapError(opened.writeAll(encoder.encode(text)), failing(file))
        if (!(yield* Effect.mapError(isThere, failing(file)))) {
          return yield* failing(file)(new Error("it was removed or replaced, and groups are lost"))
        }
      }
      const [problem] = unreadable
      if (problem !== undefined) return yield* failing(file)(new Error(`a line could not be reread: ${problem}`))
    })
  }
  return saved
})
