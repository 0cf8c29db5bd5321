/**
 * Fills the index table from its files: first the positions of lines, then, line by line, the list columns and words of
 * groups. Lines that are not groups are marked and reported.
 */
import * as GroupFigures from "@atropos/api/rollout/GroupFigures"
import * as RolloutText from "@atropos/api/rollout/RolloutText"
// Imported individually: this thread should not load all of core before it answers.
import * as SampleHead from "@atropos/core/evaluation/SampleHead"
import * as SavedGroup from "@atropos/core/service/SavedGroup"
import * as ScoredGroup from "@atropos/core/trajectory/ScoredGroup"
import * as LineFile from "./LineFile.ts"
import * as LineTable from "./LineTable.ts"

/** Reports about lines, each with its file and number. */
export interface News {
  /** Lines that are not groups. */
  readonly faults: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

export interface LineReader {
  /** Indexes the lines of the next part of a file; returns whether there were any, and whether there may be more. */
  readonly scan: (file: number) => { readonly hasMore: boolean; readonly hasNews: boolean }
  /** Reads a line and stores its list columns and words. */
  readonly read: (line: Pick<LineTable.LineRecord, "id" | "start" | "bytes">) => void
  /** The group of a line with its trainer's logprobs; undefined if it is not a group. */
  readonly group: (
    line: Pick<LineTable.LineRecord, "id" | "start" | "bytes">
  ) => Pick<SavedGroup.Saved, "group" | "trained"> | undefined
  /** The complete sample of a line; undefined if it is not an evaluation sample. */
  readonly sample: (line: Pick<LineTable.LineRecord, "id" | "start" | "bytes">) => unknown
  readonly news: () => News
  readonly close: () => void
}

/** Separates the messages of a group, so that no phrase spans two. */
const separator = " \uE000 "

const decoder = new TextDecoder()

const isWholeGroup = (bytes: Uint8Array): boolean => "success" in SavedGroup.parse(decoder.decode(bytes))

/** The oldest policy version of a group's sequences; null if unknown. */
const oldest = (versions: ScoredGroup.ScoredGroup["policyVersions"]): number | null =>
  (versions ?? []).reduce((min, version) => (min === null || (version !== null && version < min) ? version : min), null)

const forget = ({ prepared }: LineTable.LineTable, file: number): void => {
  const range = LineTable.rangeOf(file)
  prepared("delete from words where rowid in (select id from line where id > ? and id < ? and state = 1)").run(...range)
  prepared("delete from sample where id > ? and id < ?").run(...range)
  prepared("delete from line where id > ? and id < ?").run(...range)
}

const insert = (
  { prepared }: LineTable.LineTable,
  id: number,
  group: ScoredGroup.ScoredGroup,
  writtenAt: number
): void => {
  const scores = Array.from(group.scores)
  const { body, preview } = RolloutText.ofMessages(group.messages, group.masks)
  const figures = GroupFigures.ofScoredGroup(group)
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  const best = Math.max(...scores)
  const hasScores = scores.length > 0
  prepared(
    `update line set state = 1, sequences = ?, tokens = ?, scores = ?, mean = ?, env_id = ?, policy_step = ?, preview = ?, at = ?,
       best = ?, disagreement = ?, deviation = ?, item = ?, prompt = ?, length = ?, longest_best = ?, truncated = ?, tool_errors = ?,
       surprise = ?, surprise_best = ?, components = ?, lengths = ?, answers = ?, expected = ?
       where id = ?`
  ).run(
    ScoredGroup.size(group),
    ScoredGroup.tokenCount(group),
    JSON.stringify(scores),
    hasScores ? mean : null,
    group.envId ?? null,
    oldest(group.policyVersions),
    preview,
    writtenAt,
    hasScores ? best : null,
    hasScores ? best - Math.min(...scores) : null,
    hasScores ? Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length) : null,
    group.itemId ?? figures.prompt,
    figures.prompt,
    figures.length,
    figures.longestBest,
    figures.truncated,
    figures.toolErrors,
    figures.surprise,
    figures.surpriseBest,
    JSON.stringify(figures.components),
    JSON.stringify(figures.lengths),
    JSON.stringify(figures.answers),
    figures.expected ?? null,
    id
  )
  if (body !== "") prepared("insert into words (rowid, body) values (?, ?)").run(id, body.replaceAll("\n", separator))
}

export const make = (table: LineTable.LineTable, paths: ReadonlyArray<string>): LineReader => {
  const files = paths.map((path) => LineFile.open(path, isWholeGroup))
  const unknownFields = SavedGroup.unknownFields()
  let faults: Array<string> = []
  let notes: Array<string> = []

  const textOf = ({ bytes, id, start }: Pick<LineTable.LineRecord, "id" | "start" | "bytes">): string =>
    decoder.decode(files[LineTable.fileOf(id)]!.bytes(start, bytes))

  return {
    scan: (index) => {
      const file = files[index]!
      const { hasMore, isAnew, lines } = file.next()
      if (isAnew) forget(table, index)
      const statement = table.prepared("insert into line (id, start, bytes, state) values (?, ?, ?, ?)")
      const [first] = LineTable.rangeOf(index)
      for (const { bytes, number, start } of lines)
        statement.run(first + number, start, bytes, bytes === 0 ? LineTable.isNotGroup : LineTable.unread)
      const abandoned = file.abandoned()
      if (abandoned !== undefined) {
        notes.push(`${file.path}, line ${abandoned}: unterminated: truncated, or still being written`)
      }
      return { hasMore, hasNews: isAnew || lines.length > 0 }
    },
    read: (line) => {
      const { bytes, id } = line
      const file = files[LineTable.fileOf(id)]!
      const number = LineTable.numberOf(id)
      const reject = (problem: string | undefined): void => {
        if (problem !== undefined) faults.push(`${file.path}, line ${number}: ${problem}`)
        table.prepared("update line set state = 2 where id = ?").run(id)
      }
      if (bytes > LineFile.maxLineBytes) return reject(`has ${bytes} bytes; the limit is ${LineFile.maxLineBytes}`)
      const text = textOf(line)
      if (text.trim() === "") return reject(undefined)
      const parsed = SavedGroup.parse(text)
      if (!("success" in parsed)) return reject(parsed.failure)
      const { group, sample, unknown } = parsed.success
      const note = unknownFields(file.path, { line: number, unknown })
      if (note !== undefined) notes.push(note)
      insert(table, id, group, file.writtenAt())
      const head = SampleHead.of(sample)
      if (head !== undefined)
        table.prepared("insert into sample (id, head) values (?, ?)").run(id, JSON.stringify(head))
    },
    group: (line) => {
      const parsed = SavedGroup.parse(textOf(line))
      return "success" in parsed ? parsed.success : undefined
    },
    sample: (line) => {
      const parsed = SavedGroup.parse(textOf(line))
      return "success" in parsed ? parsed.success.sample : undefined
    },
    news: () => {
      const all = { faults, notes }
      faults = []
      notes = []
      return all
    },
    close: () => {
      for (const file of files) file.close()
    }
  }
}
