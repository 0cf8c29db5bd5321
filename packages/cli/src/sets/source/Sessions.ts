/**
 * Joins recorded sessions with the same messages before the first answer into one group, so that answers to the same
 * prompt are compared (a recorded session has a single score, so no better and worse sequences).
 *
 * Sequences are in recording order, at the position of the first one. Only positions are kept in memory: the files are
 * read once to find them and again, line by line, to join them.
 */
import { JsonLines, type Message, SavedGroup, type ScoredGroup } from "@atropos/core"
import { Effect, type FileSystem, Option, Predicate, Stream } from "effect"
import { createHash } from "node:crypto"

/** A sequence of a line. */
interface SequenceRef {
  readonly file: number
  readonly from: JsonLines.Position
  readonly sequence: number
}

export interface Sessions {
  /** The joined groups at a line's position; none if all of its sequences belong to earlier lines. */
  readonly at: (
    file: number,
    offset: number
  ) => Effect.Effect<ReadonlyArray<ScoredGroup.ScoredGroup>, JsonLines.JsonLinesError, FileSystem.FileSystem>
}

/** Max sequences per joined group, which is held in memory; more form another group. */
const maxPerGroup = 256

/** Returns true if a group is a recorded session. */
export const isSession = ({ groupOverrides }: ScoredGroup.ScoredGroup): boolean =>
  Predicate.isString(groupOverrides?.["session"])

const isAnswer = ({ role }: Message.Message): boolean => role === "assistant" || role === "agent" || role === "gpt"

const keyOf = (chat: ReadonlyArray<Message.Message>): string => {
  const first = chat.findIndex(isAnswer)
  return createHash("sha256")
    .update(JSON.stringify(chat.slice(0, Math.max(0, first)).map(({ content, role }) => [role, content])))
    .digest("base64")
}

export const find = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const byPrompt = new Map<string, Array<SequenceRef>>()
  const byLine = new Map<string, Array<ReadonlyArray<SequenceRef>>>()
  for (const [file, path] of files.entries()) {
    yield* SavedGroup.read(path).pipe(
      Stream.runForEach((entry) =>
        Effect.sync(() => {
          if (entry._tag === "Fault" || !isSession(entry.group)) return
          for (const [sequence, chat] of (entry.group.messages ?? []).entries()) {
            const key = keyOf(chat)
            const known = byPrompt.get(key)
            const place: SequenceRef = { file, from: { offset: entry.start, lines: entry.line - 1 }, sequence }
            if (known !== undefined && known.length < maxPerGroup) {
              known.push(place)
              continue
            }
            const places = [place]
            byPrompt.set(key, places)
            const line = `${file}:${entry.start}`
            byLine.set(line, [...(byLine.get(line) ?? []), places])
          }
        })
      )
    )
  }

  const read = Effect.fnUntraced(function* ({ file, from }: SequenceRef) {
    const entry = yield* Stream.runHead(SavedGroup.read(files[file]!, { from }))
    return Option.isSome(entry) && entry.value._tag === "Saved" ? entry.value.group : undefined
  })

  const together = Effect.fnUntraced(function* (places: ReadonlyArray<SequenceRef>) {
    const sequences: Array<{ readonly group: ScoredGroup.ScoredGroup; readonly at: number }> = []
    let last: { readonly place: SequenceRef; readonly group: ScoredGroup.ScoredGroup | undefined } | undefined
    for (const place of places) {
      const isSameLine = last?.place.file === place.file && last.place.from.offset === place.from.offset
      const group = isSameLine ? last?.group : yield* read(place)
      last = { place, group }
      if (group !== undefined) sequences.push({ group, at: place.sequence })
    }
    return joined(sequences)
  })

  return {
    at: (file, offset) => Effect.forEach(byLine.get(`${file}:${offset}`) ?? [], together)
  } satisfies Sessions
})

/** Joins the fields that data sets need, from sequences of several groups. */
const joined = (
  sequences: ReadonlyArray<{ readonly group: ScoredGroup.ScoredGroup; readonly at: number }>
): ScoredGroup.ScoredGroup => ({
  tokens: sequences.map(({ at, group }) => group.tokens[at]!),
  masks: sequences.map(({ at, group }) => group.masks[at]!),
  scores: Float64Array.from(sequences, ({ at, group }) => group.scores[at]!),
  messages: sequences.map(({ at, group }) => group.messages?.[at] ?? [])
})
