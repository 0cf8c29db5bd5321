/** Converts the matching groups to a table for saving, up to a max number. */
import * as Save from "../../save/Save.ts"
import type { Source } from "../../source/Source.ts"
import type * as Wire from "../../source/Wire.ts"

const max = 10_000
const pageRows = 1000

const columns = [
  "id",
  "step",
  "environment",
  "item_id",
  "state",
  "sequences",
  "tokens",
  "policy_step",
  "mean",
  "best",
  "scores",
  "length",
  "truncated",
  "tool_errors",
  "surprise",
  "components",
  "prompt",
  "expected",
  "created_at"
]

const rowOf = (row: Wire.RolloutRow): ReadonlyArray<Save.Value> => {
  const { figures, scores } = row
  return [
    row.id,
    row.step,
    row.environment,
    row.item_id ?? figures?.prompt ?? null,
    row.state,
    row.sequences,
    row.tokens,
    row.policy_step,
    scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length,
    scores.length === 0 ? null : Math.max(...scores),
    scores.join(" "),
    figures?.length ?? null,
    figures?.truncated ?? null,
    figures?.tool_errors ?? null,
    figures?.surprise ?? null,
    figures === null || figures === undefined ? null : JSON.stringify(figures.components),
    row.preview,
    figures?.expected ?? null,
    new Date(row.created_at).toISOString()
  ]
}

export const load = async (source: Source, run: string, query: Wire.RolloutQuery): Promise<Save.Table> => {
  const rows: Array<Wire.RolloutRow> = []
  let before: string | undefined
  do {
    const page = await source.browse(run, { ...query, limit: pageRows, ...(before !== undefined && { before }) })
    rows.push(...page.rows)
    before = page.next ?? undefined
  } while (before !== undefined && rows.length < max)
  return { columns, rows: rows.map(rowOf) }
}
