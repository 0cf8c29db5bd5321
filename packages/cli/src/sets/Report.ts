/** Reports on a data set: a JSON file next to it, and a table. */
import * as Table from "../base/Table.ts"
import * as Counts from "./Counts.ts"
import type { WrittenFile } from "./SetPart.ts"

export interface Report {
  readonly command: string
  readonly source: string
  /** The options that affect rows. */
  readonly options: { readonly [name: string]: unknown }
  readonly counts: Counts.Counts
  readonly files: ReadonlyArray<WrittenFile>
  /** The first lines that are not groups, with the expected form. */
  readonly faults: ReadonlyArray<string>
  readonly wanted: number
}

const count = (value: number): string => value.toLocaleString("en-US")

const meanOf = (counts: Counts.Counts): number | null => {
  const rows = Counts.rows(counts)
  return rows === 0 ? null : counts.scores.sum / rows
}

const byCount = (dropped: Counts.Counts["dropped"]): ReadonlyArray<readonly [string, number]> =>
  Object.entries(dropped).sort(([, a], [, b]) => b - a)

const meaningOf = (reason: string, { tokenizer }: Report["options"]): string => {
  const meaning = Counts.reasons[reason] ?? reason
  return reason.startsWith("template_") && typeof tokenizer === "string" ? `${meaning} (${tokenizer})` : meaning
}

/** Path of the report; `a.jsonl` and `a.parquet` have separate ones. */
export const pathOf = (out: string): string => `${out}.report.json`

export const json = ({ command, counts, faults, files, options, source, wanted: target }: Report): string => {
  const { groups, groupsUsed, scores, sequences, severalTurns, train, validation } = counts
  const value = {
    command,
    source,
    options,
    wanted: target,
    rows: { written: train + validation, train, validation, with_several_turns: severalTurns },
    scores: { mean: meanOf(counts), minimum: scores.minimum, maximum: scores.maximum },
    groups: { read: groups, used: groupsUsed },
    sequences: { read: sequences },
    dropped: Object.fromEntries(
      byCount(counts.dropped).map(([reason, sequences]) => [reason, { sequences, meaning: meaningOf(reason, options) }])
    ),
    unreadable_lines: { count: counts.faults, first: faults },
    files
  }
  return `${JSON.stringify(value, null, 2)}\n`
}

export const table = ({ counts, files, options, source }: Omit<Report, "command" | "faults" | "wanted">): string => {
  const { groups, groupsUsed, scores, sequences, severalTurns } = counts
  const mean = meanOf(counts)
  const pairs: Array<readonly [string, string]> = [
    ["source", source],
    ["read", `${count(groups)} groups, ${count(sequences)} sequences; ${count(groupsUsed)} groups used`],
    ["rows", count(Counts.rows(counts))],
    ...files.map(
      ({ bytes, path, rows, split }) => [split, `${path} (${count(rows)} rows, ${count(bytes)} bytes)`] as const
    )
  ]
  if (mean !== null) {
    pairs.push(["scores", `mean ${mean.toFixed(3)}, from ${scores.minimum} to ${scores.maximum}`])
  }
  if (severalTurns > 0) {
    pairs.push([
      "several turns",
      `${count(severalTurns)} rows: text between the model's turns is part of the completion`
    ])
  }
  if (counts.faults > 0) pairs.push(["unreadable", `${count(counts.faults)} lines, skipped`])
  const dropped = byCount(counts.dropped)
  if (dropped.length === 0) return Table.pairs(pairs)
  const rows = dropped.map(([reason, sequences]) => [reason, count(sequences), meaningOf(reason, options)])
  return `${Table.pairs(pairs)}\n\n${Table.columns(["not kept", "sequences", "reason"], rows)}`
}
