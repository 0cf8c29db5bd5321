/** Defines the columns of the group list. */
import { createColumnHelper, tableFeatures } from "@tanstack/react-table"
import type { ReactNode } from "react"
import type * as Wire from "../../source/Wire.ts"
import { Ago } from "../../ui/Ago.tsx"
import { count, number } from "../../ui/Format.ts"
import type { Sort } from "../../query/Filter.ts"
import { type Scale, ScoreStrip } from "./ScoreStrip.tsx"
import { columnOf } from "./SortNames.ts"
import { optional, type Optional } from "./useColumns.ts"

export const features = tableFeatures({})

const helper = createColumnHelper<typeof features, Wire.RolloutRow>()

const states: { readonly [S in Wire.RolloutState]: string } = {
  buffered: "waiting for a full batch",
  queued: "in the queue",
  formed: "in a batch",
  leased: "at the trainer",
  consumed: "trained on"
}

const mean = ({ scores }: Wire.RolloutRow): string =>
  scores.length === 0 ? "–" : number(scores.reduce((sum, score) => sum + score, 0) / scores.length, 3)

export interface Shown {
  readonly columns: ReadonlySet<Optional>
  /** True if some prompts are not extracted yet. */
  readonly isReading: boolean
  /** The sort key of the list; its value replaces the tokens column. */
  readonly sort: Sort | null
  readonly component: string | null
}

const names: { readonly [C in Optional]: string } = {
  step: "Step",
  environment: "Environment",
  mean: "Mean",
  expected: "Expected",
  tokens: "Tokens",
  state: "State",
  created_at: "Received"
}

export const nameOf = (column: Optional): string => names[column]

/** Tracks of the rows' grid. */
const widths: { readonly [column: string]: string } = {
  id: "5.5rem",
  step: "3.5rem",
  environment: "minmax(6rem, 11rem)",
  scores: "7.5rem",
  mean: "3.5rem",
  preview: "minmax(8rem, 1fr)",
  expected: "minmax(4rem, 0.5fr)",
  tokens: "minmax(3.5rem, 5rem)",
  state: "5.5rem",
  created_at: "minmax(5.5rem, 8.5rem)"
}

export const tracks = (columns: ReadonlyArray<{ readonly id?: string | undefined }>): string =>
  columns.map(({ id }) => widths[id ?? ""]).join(" ")

const missing = (isReading: boolean) => (
  <span className="muted" title={isReading ? "not indexed yet" : undefined}>
    {isReading ? "…" : "–"}
  </span>
)

/** `link` renders the link to a group. */
export const columns = (
  scaleOf: (row: Wire.RolloutRow) => Scale,
  { columns, component, isReading, sort }: Shown,
  link: (row: Wire.RolloutRow, index: number) => ReactNode
) => {
  const sorted = columnOf(sort, component)
  return helper
    .columns([
      helper.display({ id: "id", header: "Group", cell: ({ row }) => link(row.original, row.index) }),
      helper.display({ id: "step", header: names.step, cell: ({ row }) => row.original.step ?? "–" }),
      helper.display({
        id: "environment",
        header: names.environment,
        cell: ({ row }) => row.original.environment ?? "–"
      }),
      helper.display({
        id: "scores",
        header: "Scores",
        cell: ({ row }) => <ScoreStrip scores={row.original.scores} scale={scaleOf(row.original)} />
      }),
      helper.display({ id: "mean", header: names.mean, cell: ({ row }) => mean(row.original) }),
      helper.display({
        id: "preview",
        header: "Prompt",
        cell: ({ row }) => row.original.preview ?? missing(isReading)
      }),
      helper.display({
        id: "expected",
        header: names.expected,
        cell: ({ row: { original } }) => {
          const expected = original.figures?.expected
          return expected === undefined ? missing(isReading) : <span title={expected}>{expected}</span>
        }
      }),
      helper.display({
        id: "tokens",
        header: sorted?.head ?? names.tokens,
        cell: ({ row: { original } }) => (sorted === null ? count(original.tokens) : (sorted.shown(original) ?? "–"))
      }),
      helper.display({
        id: "state",
        header: names.state,
        cell: ({ row: { original } }) => (
          <span className={`state state-${original.state}`} title={states[original.state]}>
            {original.state}
          </span>
        )
      }),
      helper.display({
        id: "created_at",
        header: names.created_at,
        cell: ({ row }) => <Ago at={row.original.created_at} />
      })
    ])
    .filter(({ id }) => !optional.some((name) => name === id && !columns.has(name)))
}
