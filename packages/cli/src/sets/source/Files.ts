/**
 * Reads groups from JSON Lines files, one after another. Invalid lines are reported with file and number, and skipped.
 * For pairs, recorded sessions with the same prompt form one group (`Sessions`).
 */
import { JsonLines, SavedGroup } from "@atropos/core"
import { Effect, FileSystem, Option, Schema, Stream } from "effect"
import { UsageError } from "../../base/Failure.ts"
import * as OpenSessions from "../../gateway/OpenSessions.ts"
import * as Sessions from "./Sessions.ts"
import type { Source } from "./Source.ts"

const Cursor = Schema.Struct({ file: Schema.Natural, offset: Schema.Natural, lines: Schema.Natural })

const decodeCursor = Schema.decodeUnknownOption(Cursor)

/** The first file that is given twice, under any name. */
const repeated = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const real = yield* Effect.forEach(files, (file) => Effect.orElseSucceed(fs.realPath(file), () => file))
  return files.find((_, index) => real.indexOf(real[index]!) < index)
})

const unreadable = ({ message }: JsonLines.JsonLinesError) => new UsageError({ message })

export const make = (
  files: ReadonlyArray<string>,
  { joinsSessions }: { readonly joinsSessions: boolean }
): Source<FileSystem.FileSystem> => ({
  name: files.length === 1 ? files[0]! : `${files.length} files`,
  identity: { from: files },
  checkpointEvery: 200,
  run: Effect.fn("Files.run")(function* (sink, from) {
    const start = Option.getOrElse(Option.flatMap(from, decodeCursor), () => ({ file: 0, ...JsonLines.start }))
    // All files are checked before the first is read: a wrong name should not surface after an hour.
    yield* Effect.forEach(files.slice(start.file), (file) => JsonLines.inspect(file, SavedGroup.expected)).pipe(
      Effect.mapError(unreadable)
    )
    const twice = yield* repeated(files)
    if (twice !== undefined) {
      return yield* new UsageError({ message: `--from: ${twice} is given twice, and its rows would be too` })
    }
    const sessions = joinsSessions ? yield* Effect.mapError(Sessions.find(files), unreadable) : undefined
    const unknownFields = SavedGroup.unknownFields()
    for (let index = start.file; index < files.length; index++) {
      const file = files[index]!
      const open = yield* OpenSessions.note(file)
      if (open !== undefined) yield* sink.note(open)
      const from = index === start.file ? { offset: start.offset, lines: start.lines } : JsonLines.start
      const hasMore = yield* SavedGroup.read(file, { from }).pipe(
        Stream.mapError(unreadable),
        Stream.mapEffect(
          Effect.fnUntraced(function* (entry) {
            if (entry._tag === "Fault") {
              yield* sink.fault(`${file}, line ${entry.line}: ${entry.problem}`)
              return true
            }
            if (entry.isEvaluation) {
              yield* sink.fault(
                `${file}, line ${entry.line}: is an evaluation sample; held-out items must not be trained on`
              )
              return true
            }
            const note = unknownFields(file, entry)
            if (note !== undefined) yield* sink.note(note)
            const { end, group, line, start: offset } = entry
            const groups =
              sessions !== undefined && Sessions.isSession(group)
                ? yield* Effect.mapError(sessions.at(index, offset), unreadable)
                : [group]
            return yield* sink.take(groups, { file: index, offset: end, lines: line })
          })
        ),
        Stream.takeUntil((wantsMore) => !wantsMore),
        Stream.runLast
      )
      if (Option.contains(hasMore, false)) return
    }
  })
})
